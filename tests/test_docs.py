"""The documents hold: their code and commands run, their links lead somewhere, the generated parts are as generated."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest
from scripts.docs import DOCS, GENERATED

from docs_console import Block, Reader, fences, fits, scripted_answers, served
from toolwire.embedded import registry
from toolwire.tools import forms

ROOT = DOCS.parent
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", *sorted(DOCS.rglob("*.md"))]
HOST = ("https://github.com/toolwire/toolwire/blob/main/", "https://github.com/toolwire/toolwire/tree/main/")
RAW = "https://raw.githubusercontent.com/toolwire/toolwire/main/"
"""Where the files of this repository are read: the README is also shown by the package index, which has no others."""


def name_of(path: Path) -> str:
    return str(path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT))


def blocks(path: Path) -> list[tuple[str, str, bool]]:
    """(where, code, whether it is to be run by itself) of each Python block. Files are run by the page's commands."""
    return [
        (
            f"{name_of(path)}:{block.line + 1}",
            "\n" * block.line + block.text,
            not {"not run", "file", "model"} & block.notes.keys(),
        )
        for block in python_fences(path)
    ]


def python_fences(path: Path) -> list[Block]:
    return [block for block in fences(path.read_text()) if block.language == "python"]


EVERY = [(path, *block) for path in PAGES for block in blocks(path)]
QUICK = [block for block in EVERY if block[0] != README and block[3]]
CONSOLES = [
    path
    for path in PAGES
    if any(block.language == "console" and "not run" not in block.notes for block in fences(path.read_text()))
]


def run_cell(path: Path, code: str) -> None:
    """As a notebook does: on a loop that runs already, with `await` anywhere."""

    async def cell() -> None:
        done = eval(compile(code, str(path), "exec", flags=PyCF_ALLOW_TOP_LEVEL_AWAIT), {"__name__": "__main__"})
        if isawaitable(done):
            await done

    asyncio.run(cell())


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
    compile(code, str(path), "exec", flags=PyCF_ALLOW_TOP_LEVEL_AWAIT)


@contextmanager
def answering(block: Block, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The code of a block whose models answer by the script of its `model:` comment, through loopback."""
    answers: dict[str, list[Any]] = json.loads(block.notes.get("model", "{}"))
    typed = json.loads(block.notes.get("typed", "[]"))
    monkeypatch.setattr("builtins.input", lambda prompt="": print(prompt) or typed.pop(0))
    with ExitStack() as stack:
        models = []
        for provider, wire in (("openai", "openai-chat"), ("anthropic", "anthropic")):
            model = scripted_answers(answers.get(provider, []), wire)
            models.append(model)
            monkeypatch.setenv(f"{provider.upper()}_BASE_URL", stack.enter_context(served(model)))
            monkeypatch.setenv(f"{provider.upper()}_API_KEY", "none")
        yield "\n" * block.line + block.text
        assert [model.left for model in models] == [0, 0], "answers of the model were not asked for"
        assert not typed, "what is typed was not asked for"


FIRST, *RECIPES = python_fences(README)
ANSWERED = [
    (path, block) for path in PAGES if path != README for block in python_fences(path) if "model" in block.notes
]


def test_the_first_code_of_the_readme_runs_with_a_scripted_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another model is another name: nothing else in the program changes."""
    script = '{"openai": [[{"call": "get_weather", "arguments": {"city": "Paris"}}], "It is 18 °C."]}'
    local, other = '"local"', '"openai:any"'
    assert FIRST.text.count(local) == 1
    block = Block(FIRST.line, FIRST.language, FIRST.text.replace(local, other), {"model": script})
    with answering(block, monkeypatch) as code:
        run(README, code)
    assert capsys.readouterr().out == "It is 18 °C.\n"


@pytest.mark.thorough
@pytest.mark.xdist_group("local-model")
def test_the_first_code_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """With the embedded model: the answer holds what the tool said."""
    from toolwire.local.weights import install_weights

    install_weights()
    run(README, FIRST.text)
    assert "18" in capsys.readouterr().out


@pytest.mark.parametrize("block", RECIPES, ids=lambda block: f"README.md:{block.line + 1}")
def test_the_recipes_of_the_readme_run(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with answering(block, monkeypatch) as code:
        run(README, code)
    printed = capsys.readouterr().out
    if "poem.txt" in block.text:
        assert (tmp_path / "poem.txt").read_text() == "Bytes drift by\n"
        assert "+Bytes drift by" in printed
        assert printed.endswith("It is in poem.txt.\n")
    elif "stream.feed" in block.text:
        assert printed.startswith("start get_weather \n")
        assert "ToolInvocation" in printed
        assert "{'city': 'Paris'}" in printed
    else:
        assert printed == "18 °C and sunny.\nYes.\n"


@pytest.mark.parametrize(
    ("path", "block"), ANSWERED, ids=[f"{name_of(path)}:{block.line + 1}" for path, block in ANSWERED]
)
def test_examples_with_a_scripted_model_run(
    path: Path, block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that the model says is asked for, and its last words are printed."""
    monkeypatch.chdir(tmp_path)
    with answering(block, monkeypatch) as code:
        (run_cell if "notebook" in block.notes else run)(path, code)
    last = [said[-1] for said in json.loads(block.notes["model"]).values()][-1]
    assert last in capsys.readouterr().out


SEARCHED = (
    "API key",
    "rate limit",
    "context window",
    "human in the loop",
    "multi-agent",
    "quickstart",
    "Jupyter",
    "FAQ",
)


@pytest.mark.parametrize("words", SEARCHED)
def test_words_that_people_search_for_are_in_headings_or_first_lines(words: str) -> None:
    """What search engines and readers see first: headings, and the paragraph below each."""
    found = [path for path in DOCS.rglob("*.md") if words.lower() in seen_first(path.read_text()).lower()]
    assert found


def seen_first(text: str) -> str:
    """The headings of a page with the paragraph that follows each."""
    parts = text.split("\n\n")
    return "\n".join(part for at, part in enumerate(parts) if "#" in (part[:1], parts[at - 1][:1]))


def test_the_readme_is_short_before_the_first_code() -> None:
    """Half a page: a stranger sees code without scrolling."""
    before = README.read_text().partition("```python")[0]
    assert len(before.split()) < 150


def test_the_readme_is_whole_on_the_package_index() -> None:
    """Links and pictures are absolute there, and it counts the providers that there are."""
    from toolwire.providers.catalog import PROVIDERS

    text = README.read_text()
    assert all("://" in link for link in links(text))
    assert re.findall(r"(\d+) providers", text)[0] == str(len(PROVIDERS))


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


def links(text: str) -> list[str]:
    return [piece.split(")", 1)[0] for piece in text.split("](")[1:]]


def page_of(link: str, path: Path) -> Path | None:
    """The file that a link leads to, relative or by the address where this repository is read; None if elsewhere."""
    for base in (*HOST, RAW):
        if link.startswith(base):
            return ROOT / link.removeprefix(base)
    if "://" in link:
        return None
    return path.parent / link if link else path


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    for link in links(path.read_text()):
        target, _, anchor = link.partition("#")
        if (page := page_of(target, path)) is None:
            continue
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
