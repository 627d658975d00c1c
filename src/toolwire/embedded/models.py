"""Which models were trained on which syntax, by what stands in their names."""

from __future__ import annotations

_SEPARATORS = str.maketrans({"_": "-", "/": "-", ":": "-", " ": "-"})

TRAINED: tuple[tuple[str, str], ...] = (
    ("claude", "xml"),
    ("qwen3-coder", "qwen3-coder"),
    ("qwen", "hermes"),
)
"""Words that stand in a model's name, separated by `*`, and the format. The first that fits counts."""


def trained_format(model: str) -> str:
    """The name of the format that the model of this name was trained on; empty if that is not known."""
    written = model.lower().translate(_SEPARATORS)
    for pattern, name in TRAINED:
        if _fits(pattern, written):
            return name
    return ""


def _fits(pattern: str, written: str) -> bool:
    at = 0
    for word in pattern.split("*"):
        at = written.find(word, at)
        if at < 0:
            return False
        at += len(word)
    return True
