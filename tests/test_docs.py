"""The documents hold: their code runs, their links lead somewhere, the generated parts are as generated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolwire.embedded import registry
from toolwire.tools import forms

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NOT_RUN = "<!-- not run:"
"""Before a block that needs a key or a person."""


def blocks(path: Path) -> list[tuple[str, str, bool]]:
    """(where, code, whether it is to be run) of each Python block."""
    found = []
    lines = path.read_text().splitlines()
    start: int | None = None
    for number, line in enumerate(lines):
        if start is None and line == "```python":
            start = number
        elif start is not None and line == "```":
            code = "\n" * (start + 1) + "\n".join(lines[start + 1 : number])
            found.append((f"{path.name}:{start + 2}", code, not lines[start - 1].startswith(NOT_RUN)))
            start = None
    return found


EVERY = [(path, *block) for path in PAGES for block in blocks(path)]
QUICK = [block for block in EVERY if block[0].name != "README.md" and block[3]]


def run(path: Path, code: str) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, str(path), "exec"), names)
    for test in [value for name, value in names.items() if name.startswith("test_")]:
        test()  # an example of a test


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an example registers is gone after it."""
    monkeypatch.setattr(forms, "_FORMS", dict(forms._FORMS))
    for name in ("_formats", "_by_provider", "_by_model", "_by_tool"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(("path", "where", "code", "_"), QUICK, ids=[block[1] for block in QUICK])
def test_examples_run(path: Path, where: str, code: str, _: bool) -> None:
    run(path, code)


@pytest.mark.parametrize(("path", "where", "code", "_"), EVERY, ids=[block[1] for block in EVERY])
def test_examples_compile(path: Path, where: str, code: str, _: bool) -> None:
    compile(code, str(path), "exec")


@pytest.mark.slow
@pytest.mark.xdist_group("local-model")
def test_the_code_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """With the embedded model: the answer holds what the tool said."""
    from toolwire.local.weights import install_weights

    install_weights()
    ((path, _, code, to_run),) = [block for block in EVERY if block[0].name == "README.md"]
    assert to_run
    run(path, code)
    assert "18" in capsys.readouterr().out


def anchors(path: Path) -> set[str]:
    """What the headings of a page are linked by: letters, digits and dashes, as GitHub makes them."""
    headings = [line.lstrip("#").strip().lower() for line in path.read_text().splitlines() if line.startswith("#")]
    kept = ("".join(char for char in heading if char.isalnum() or char in "-_ ") for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("path", PAGES, ids=[path.name for path in PAGES])
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text()
    for piece in text.split("](")[1:]:
        link = piece.split(")", 1)[0]
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        page = path.parent / target if target else path
        assert page.exists(), link
        if anchor:
            assert anchor in anchors(page), link


def test_help_texts_are_as_generated() -> None:
    from scripts.docs import command_page

    assert (ROOT / "docs" / "command.md").read_text() == command_page(), "run `make docs`"


def test_the_table_of_providers_is_as_generated() -> None:
    from scripts.docs import provider_table, providers_page

    page = (ROOT / "docs" / "providers.md").read_text()
    assert page == providers_page(), "run `make docs`"
    assert provider_table() in page


def test_the_table_of_formats_is_as_generated() -> None:
    from scripts.docs import format_table, text_page

    assert (ROOT / "docs" / "text.md").read_text() == text_page(), "run `make docs`"
    assert "`hermes`" in format_table()
