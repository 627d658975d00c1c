"""The tests import nothing that only the benchmarks, the peers or the documentation site install."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LISTS = ("build", "run", "test")
"""The requirements that `make test` installs."""
OWN = ("toolwire", "bench", "scripts")
OPTIONAL = frozenset({("test_bench_verdicts", "orjson")})
"""What a test skips without; `make test-all` installs it."""
ALWAYS_THERE = frozenset({"pip"})


@cache
def installed() -> frozenset[str]:
    """The normalized names of everything that `make test` installs."""
    texts = [(ROOT / "requirements" / f"{name}.txt").read_text() for name in LISTS]
    return frozenset(canonicalize_name(Requirement(line).name) for text in texts for line in text.splitlines() if line)


@cache
def parsed(path: Path) -> ast.Module:
    """The file's syntax tree."""
    return ast.parse(path.read_text())


def imported(tree: ast.AST, package: str, *, lazily: bool) -> Iterator[str]:
    """Full names of what is imported; without `lazily`, only what an import of the module itself imports."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            home = ".".join([*parts, *filter(None, [node.module])])
            yield home
            yield from (f"{home}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from imported(ast.Module([other], []), package, lazily=lazily)
        elif lazily or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imported(node, package, lazily=lazily)


def path_of(module: str) -> Path | None:
    """The file of a module of `bench` or `scripts`."""
    base = ROOT.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def foreign(path: Path, name: str, seen: set[str], *, lazily: bool) -> Iterator[str]:
    """Top-level modules of other packages that this file needs, itself and through `bench` and `scripts`."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for module in imported(parsed(path), package, lazily=lazily):
        top = module.partition(".")[0]
        if top in ("bench", "scripts"):
            parts = module.split(".")
            for length in range(1, len(parts) + 1):
                part = ".".join(parts[:length])
                if part not in seen and (found := path_of(part)) is not None:
                    seen.add(part)
                    yield from foreign(found, part, seen, lazily=False)
        elif top not in sys.stdlib_module_names and not is_own(top):
            yield top


@cache
def is_own(top: str) -> bool:
    """Whether it is the package, or a module or folder beside the tests."""
    return top in OWN or (ROOT / "tests" / top).is_dir() or (ROOT / "tests" / f"{top}.py").is_file()


@cache
def distributions() -> Mapping[str, list[str]]:
    """The packages that hold each top-level module here."""
    return packages_distributions()


def is_installed(module: str) -> bool:
    """Whether `make test` installs the module: by the names in the requirements, not by what is installed here."""
    names = distributions().get(module, [module])
    return module in ALWAYS_THERE or any(canonicalize_name(name) in installed() for name in names)


def test_the_tests_need_only_what_make_test_installs() -> None:
    missing = {
        (path.stem, module)
        for path in (ROOT / "tests").rglob("*.py")
        for module in foreign(path, f"tests.{path.stem}", set(), lazily=True)
        if not is_installed(module)
    }
    assert missing <= OPTIONAL


def test_an_import_through_the_benchmarks_is_found(tmp_path: Path) -> None:
    """`bench.plot` imports matplotlib, which only the benchmarks install; a lazy import of it counts all the same."""
    path = tmp_path / "test_x.py"
    path.write_text("def f():\n    from bench import plot\n")
    assert "matplotlib" in set(foreign(path, "tests.test_x", set(), lazily=True))
    assert not is_installed("matplotlib")
    assert not is_installed("orjson")
    assert is_installed("pytest")
    assert is_installed("google")


def test_what_a_benchmark_imports_lazily_is_not_needed_to_import_it(tmp_path: Path) -> None:
    source = (
        "import a.b\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import c\nelse:\n    import d\n"
        "try:\n    from . import e\nexcept ImportError:\n    pass\ndef f():\n    import g\n"
    )
    found = list(imported(ast.parse(source), "bench.x", lazily=False))
    assert found == ["a.b", "typing", "typing.TYPE_CHECKING", "d", "bench.x", "bench.x.e"]
    assert "g" in list(imported(ast.parse(source), "bench.x", lazily=True))
