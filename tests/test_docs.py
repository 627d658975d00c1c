"""The documents hold: their code and commands run, their links lead somewhere, the generated parts are as generated."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from scripts.docs import DOCS, GENERATED

from docs_console import Reader, fences, fits
from toolwire.embedded import registry
from toolwire.tools import forms

ROOT = DOCS.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def name_of(path: Path) -> str:
    return str(path.relative_to(DOCS)) if path.is_relative_to(DOCS) else path.name


def blocks(path: Path) -> list[tuple[str, str, bool]]:
    """(where, code, whether it is to be run by itself) of each Python block. Files are run by the page's commands."""
    return [
        (
            f"{name_of(path)}:{block.line + 1}",
            "\n" * block.line + block.text,
            not {"not run", "file"} & block.notes.keys(),
        )
        for block in fences(path.read_text())
        if block.language == "python"
    ]


EVERY = [(path, *block) for path in PAGES for block in blocks(path)]
QUICK = [block for block in EVERY if block[0].name != "README.md" and block[3]]
CONSOLES = [
    path
    for path in PAGES
    if any(block.language == "console" and "not run" not in block.notes for block in fences(path.read_text()))
]


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


@pytest.mark.thorough
@pytest.mark.xdist_group("local-model")
def test_the_code_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """With the embedded model: the answer holds what the tool said."""
    from toolwire.local.weights import install_weights

    install_weights()
    ((path, _, code, to_run),) = [block for block in EVERY if block[0].name == "README.md"]
    assert to_run
    run(path, code)
    assert "18" in capsys.readouterr().out


def followed(path: Path) -> Any:
    """A page to follow; one whose commands ask the embedded model takes its turn among the tests that do."""
    needs_model = any(block.notes.get("model") == "local" for block in fences(path.read_text()))
    marks = [pytest.mark.thorough, pytest.mark.xdist_group("local-model")] if needs_model else []
    return pytest.param(path, id=name_of(path), marks=marks)


@pytest.mark.thorough
@pytest.mark.parametrize("path", [followed(path) for path in CONSOLES])
def test_commands_print_what_the_page_says(path: Path) -> None:
    # Its path must be as short as a real home's: lines with it in them are folded.
    with tempfile.TemporaryDirectory() as folder:
        Reader(Path(folder)).follow(path.read_text())


@pytest.mark.parametrize(
    ("expected", "printed", "is_so"),
    [
        (["one"], "one\n", True),
        (["one"], "one\ntwo\n", False),
        (["one", "two"], "one\n", False),
        (["one …"], "one and more\n", True),
        (["one … more"], "one\nmore\n", False),
        (["one", "…", "three"], "one\ntwo\ntwo\nthree\n", True),
        (["one", "…"], "one\n", True),
        (["…", "three"], "one\nthree\nfour\n", False),
        (["a.c"], "abc\n", False),
        ([], "", True),
        ([], "one\n", False),
    ],
)
def test_output_is_compared(expected: list[str], printed: str, is_so: bool) -> None:
    assert fits(expected, printed) is is_so


OUTDATED = """
<!-- model: ["Hello."] -->
```console
$ toolwire run "Hi" --model openai:any
Goodbye.
```
"""


def test_outdated_output_is_found(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    reader.env["OPENAI_API_KEY"] = "none"
    with pytest.raises(AssertionError, match=r"line 3: \$ toolwire run[\s\S]*Goodbye[\s\S]*Hello"):
        reader.follow(OUTDATED)


def anchors(path: Path) -> set[str]:
    """What the headings of a page are linked by: letters, digits and dashes, as GitHub makes them."""
    headings = [line.lstrip("#").strip().lower() for line in path.read_text().splitlines() if line.startswith("#")]
    kept = ("".join(char for char in heading if char.isalnum() or char in "-_ ") for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("path", PAGES, ids=name_of)
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


@pytest.mark.parametrize("name", GENERATED)
def test_what_is_generated_is_as_generated(name: str) -> None:
    assert (DOCS / name).read_text() == GENERATED[name](), "run `make docs`"


def test_the_tables_hold_what_they_should() -> None:
    """A generator that finds nothing writes nothing, and would agree with itself."""
    for name, words in {
        "command.md": "## toolwire mcp add",
        "providers.md": "`openai-compatible`",
        "text.md": "`hermes`",
        "reference/library.md": "### Agent",
        "reference/durable.md": "### Runs",
        "reference/events.md": "## ApprovalAsked",
        "reference/errors.md": "`ReplayDiffers`",
        "reference/limits.md": "`MESSAGE_BYTES`",
        "reference/settings.md": "`TOOLWIRE_MODEL`",
        "reference/chat.md": "`/model [PROVIDER:MODEL]`",
    }.items():
        assert words in (DOCS / name).read_text(), name


def test_what_the_code_names_is_there() -> None:
    """Hints of the command name pages: `docs/approval.md`."""
    for path in (ROOT / "src").rglob("*.py"):
        for piece in path.read_text().split("docs/")[1:]:
            name, found, _ = piece.partition(".md")
            if found and name.replace("-", "").replace("/", "").isalnum() and "toolwire" in str(path) and len(name) > 2:
                assert (DOCS / f"{name}.md").exists(), f"{path}: docs/{name}.md"
