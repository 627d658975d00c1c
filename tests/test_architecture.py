"""The arrows: what may import what, how light the package is, and who may make what."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import toolwire

PACKAGE = Path(toolwire.__file__).parent

SANS_IO = ("wire", "providers", "embedded", "stream")
OUTSIDE = frozenset(
    (
        "asyncio",
        "socket",
        "ssl",
        "select",
        "selectors",
        "os",
        "pathlib",
        "shutil",
        "tempfile",
        "subprocess",
        "threading",
        "multiprocessing",
        "signal",
        "time",
        "random",
        "secrets",
        "uuid",
        "datetime",
        "http",
        "urllib",
        "aiohttp",
        "httpx",
        "httpx2",
        "requests",
        "sqlite3",
        "logging",
        "sys",
    )
)
"""What the sans-IO core may not touch: the loop, the network, files, clocks, chance, the environment."""

LEFT_TO_RIGHT = (
    "wire",
    "providers",
    "embedded",
    "stream",
    "approval",
    "execution",
    "builtin",
    "mcp",
    "agent",
    "durable",
    "testing",
    "inspection",
    "cli",
    "chat",
    "tui",
)
"""Each folder may import those to its left and itself, never those to its right."""

CORE_MODULES = ("errors", "limits", "messages", "chunks", "json_reader", "strict_json", "redaction", "key_shapes")


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(name: str, path: Path) -> frozenset[str]:
    """Every module that a file imports, at its top or inside functions; ours as `toolwire.x.y`."""
    return frozenset(_imports(name, path))


def _imports(name: str, path: Path) -> Iterator[str]:
    package = f"toolwire.{name}".split(".")
    if path.name != "__init__.py":
        package.pop()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            home = ".".join([*base, node.module] if node.module else base)
            yield home
            if not node.module:
                for alias in node.names:
                    yield f"{home}.{alias.name}"


EVERY = [(name, path) for name, path in modules() if name]
SANS_IO_MODULES = [(name, path) for name, path in EVERY if name.split(".")[0] in (*SANS_IO, *CORE_MODULES)]


def test_the_core_is_sans_io() -> None:
    touched = {
        name: found
        for name, path in SANS_IO_MODULES
        if (found := {module.split(".")[0] for module in imports(name, path)} & OUTSIDE)
    }
    assert touched == {}


def test_arrows_go_one_way() -> None:
    wrong = {}
    for name, path in EVERY:
        try:
            check_arrows(name, path)
        except AssertionError as error:
            wrong[name] = str(error)
    assert wrong == {}


def check_arrows(name: str, path: Path) -> None:
    home = name.split(".")[0]
    used = {module.split(".")[1] for module in imports(name, path) if module.startswith("toolwire.")}
    if home in CORE_MODULES:
        assert used <= set(CORE_MODULES)
    if home in LEFT_TO_RIGHT:
        assert not used & set(LEFT_TO_RIGHT[LEFT_TO_RIGHT.index(home) + 1 :])
    if home == "tools":
        assert not used & set(LEFT_TO_RIGHT)
    if home == "settings":
        assert used <= {"settings", "folders", "errors"}
    if home == "files":
        assert used <= {"files", "folders", "errors"}
    if home != "telemetry":
        assert "telemetry" not in used
    if home in ("transport", "refusals", "signing", "local"):
        assert not used & {"agent", "cli"}


def test_what_syntaxes_share_knows_none_of_them() -> None:
    for name, path in EVERY:
        if name.startswith("embedded.") and not name.startswith("embedded.formats"):
            assert not [module for module in imports(name, path) if "embedded.formats" in module], name


def test_one_module_knows_the_engine_of_durable_runs() -> None:
    assert [name for name, path in EVERY if {"dbos", "dbos._error"} & set(imports(name, path))] == [
        "durable.dbos_engine"
    ]


def test_a_broken_arrow_would_be_seen(tmp_path: Path) -> None:
    path = tmp_path / "sse.py"
    path.write_text("def f():\n    import asyncio\n    from ..agent import loop\n    from .. import transport\n")
    assert set(imports("wire.sse", path)) >= {"asyncio", "toolwire.agent", "toolwire.transport"}


def constructions(*of: str) -> dict[str, list[str]]:
    """The modules that call each of these."""
    found: dict[str, list[str]] = {each: [] for each in of}
    for name, path in EVERY:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call):
                for each in {getattr(node.func, "id", ""), getattr(node.func, "attr", "")} & found.keys():
                    found[each].append(name)
    return found


def test_invocations_and_tickets_are_made_in_one_place_each() -> None:
    assert constructions("ToolInvocation", "requested", "Ticket") == {
        "ToolInvocation": ["stream.invocation"] * 2,
        "requested": ["mcp.requests", "mcp.serving"],
        "Ticket": ["approval.gate"],
    }


def test_no_regular_expression_sees_model_text() -> None:
    for name, path in EVERY:
        if name.split(".")[0] in (*SANS_IO, *CORE_MODULES, "agent", "execution", "approval", "builtin", "files", "mcp"):
            assert "re" not in set(imports(name, path)), name


HEAVY = [
    "aiohttp",
    "opentelemetry",
    "sqlite3",
    "tenacity",
    "pydantic",
    "jsonschema_rs",
    "rich",
    "cyclopts",
    "xllamacpp",
    "mcp",
    "httpx2",
    "anyio",
    "openai",
    "botocore",
    "google.auth",
    "asyncio",
    "difflib",
    "re2",
]


def test_import_is_light() -> None:
    script = (
        "import sys, time\n"
        "import msgspec\n"
        "before = time.process_time()\n"
        "import toolwire\n"
        "print(time.process_time() - before)\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    seconds, heavy = output.split("\n")[:2]
    assert heavy == ""
    # Far below the 100 ms that are promised; generous for a busy machine.
    assert float(seconds) < 0.1


def test_the_sans_io_stream_needs_no_heavy_module() -> None:
    script = (
        "import sys, toolwire\n"
        "toolwire.Stream('openai-chat').feed(b'data: {}\\n\\n')\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output.strip() == ""


def test_public_names_are_all_there() -> None:
    for name in toolwire.__all__:
        assert getattr(toolwire, name) is not None
    assert set(toolwire.__all__) == set(toolwire._HOMES)
    with pytest.raises(AttributeError):
        _ = toolwire.nonsense


def test_no_two_tests_have_the_same_file_name() -> None:
    """The folders are no packages: of two files with one name, one would not be run."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
