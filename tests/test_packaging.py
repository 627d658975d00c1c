"""What is published: the wheel, the source distribution, their metadata, and the README as an index page shows it."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from page_links import anchors, links
from toolwire import __version__
from toolwire.extras import EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REPOSITORY = PROJECT["urls"]["Source"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")

pytestmark = pytest.mark.xdist_group("packaging")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the source distribution, built without the network."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    assert path.name == f"toolwire-{__version__}-py3-none-any.whl"
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    return email.message_from_bytes(wheel.read(f"toolwire-{__version__}.dist-info/METADATA"))


def sources(folder: Path) -> set[str]:
    """Every file below, from the project's root, without what Python and tools leave there."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not {"__pycache__", ".mypy_cache"} & set(path.parts) and path.suffix != ".pyc"
    }


def test_the_wheel_holds_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == {name.removeprefix("src/") for name in sources(ROOT / "src" / "toolwire")}
    assert {"toolwire/py.typed", "toolwire/local/template.jinja"} <= names
    extra = {name.partition("/")[2] for name in wheel.namelist() if ".dist-info/" in name}
    assert extra == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def test_the_source_distribution_is_enough_to_run_and_test(built: Path) -> None:
    with tarfile.open(built / f"toolwire-{__version__}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = {
        "Makefile",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "zensical.toml",
    }
    for name in ("src", "tests", "bench", "docs", "examples", "scripts", "requirements"):
        expected |= sources(ROOT / name)
    assert expected - names == set()
    assert names - expected == {"PKG-INFO", ".gitignore"}


def test_nothing_is_compiled_to_install(wheel: zipfile.ZipFile) -> None:
    described = wheel.read(f"toolwire-{__version__}.dist-info/WHEEL").decode()
    assert "Root-Is-Purelib: true" in described
    assert "Tag: py3-none-any" in described


def test_the_command_is_installed(wheel: zipfile.ZipFile) -> None:
    points = wheel.read(f"toolwire-{__version__}.dist-info/entry_points.txt").decode()
    assert points.strip() == "[console_scripts]\ntoolwire = toolwire.cli:main"


def test_the_metadata_says_where_everything_is(metadata: Message) -> None:
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL", []))
    assert list(urls) == ["Homepage", "Documentation", "Source", "Issues", "Changelog"]
    assert all(url.startswith("https://") for url in urls.values())
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata["Version"] == __version__
    assert len(metadata["Summary"]) < 200


def test_the_classifiers_name_every_supported_python(metadata: Message) -> None:
    classifiers = metadata.get_all("Classifier", [])
    named = [each.rpartition(" ")[2] for each in classifiers if each.startswith("Programming Language :: Python :: 3.")]
    assert tuple(named) == PYTHONS
    supported = SpecifierSet(metadata["Requires-Python"])
    assert all(f"{version}.0" in supported for version in PYTHONS)
    assert "3.10.9" not in supported
    assert "3.15.0" not in supported
    assert not [each for each in classifiers if "Windows" in each or "OS Independent" in each]


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md", "docs/tutorial/first-minutes.md"])
def test_the_pages_for_newcomers_name_every_supported_python(page: str) -> None:
    named = re.findall(r"Python (3\.\d+.*?) (?:on|and) ", (ROOT / page).read_text())
    assert named == [f"{PYTHONS[0]} to {PYTHONS[-1]}"]


def test_all_means_every_extra(metadata: Message) -> None:
    assert sorted(metadata.get_all("Provides-Extra", [])) == sorted([*EXTRAS, "all"])
    assert PROJECT["optional-dependencies"]["all"] == [f"toolwire[{','.join(EXTRAS)}]"]


def test_no_requirement_names_an_address(metadata: Message) -> None:
    assert not [each for each in metadata.get_all("Requires-Dist", []) if "://" in each or "file:" in each]


def requirements(*names: str) -> dict[str, Requirement]:
    """What the pinned lists hold, by normalized name; of several markers the last."""
    lines = [line for name in names for line in (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()]
    return {canonicalize_name(each.name): each for each in map(Requirement, filter(None, lines))}


def declared() -> list[Requirement]:
    """Every dependency, with those of the extras, without `all`."""
    extras = [each for name, listed in PROJECT["optional-dependencies"].items() if name != "all" for each in listed]
    return [Requirement(each) for each in (*PROJECT["dependencies"], *extras)]


@pytest.mark.parametrize("needed", declared(), ids=lambda needed: needed.name)
def test_every_dependency_has_a_lower_bound_and_is_pinned_within_its_bounds(needed: Requirement) -> None:
    assert [each for each in needed.specifier if each.operator == ">="]
    (pin,) = requirements("run")[canonicalize_name(needed.name)].specifier
    assert pin.version in needed.specifier


# ---- The README, as an index page shows it.


def README() -> str:
    return (ROOT / "README.md").read_text()


def problem(link: str, page: str) -> str:
    """What is wrong with a link of the README; empty where nothing is."""
    if link.startswith("#"):
        return "" if link[1:] in anchors(page) else "no such heading"
    if not link.startswith("https://"):
        return "not absolute"
    address = urlsplit(link)
    for host, forms in (("github.com", ("blob", "tree", "raw")), ("raw.githubusercontent.com", ("",))):
        place = f"https://{host}{urlsplit(REPOSITORY).path}/"
        if not link.startswith(place) or address.netloc != host:
            continue
        for form in forms:
            inside = address.path.removeprefix(urlsplit(place).path)
            start = f"{form}/main/" if form else "main/"
            if inside.startswith(start):
                path = ROOT / unquote(inside.removeprefix(start))
                if not (path.is_dir() if form == "tree" else path.is_file()):
                    return "no such file"
                if path.suffix == ".md" and address.fragment and address.fragment not in anchors(path.read_text()):
                    return "no such heading there"
    return ""


def test_every_link_of_the_readme_works_on_an_index_page() -> None:
    page = README()
    found = {link: problem(link, page) for link in links(page)}
    assert {link: what for link, what in found.items() if what} == {}


@pytest.mark.parametrize(
    ("link", "what"),
    [
        ("docs/index.md", "not absolute"),
        ("http://example.com/", "not absolute"),
        ("#nowhere", "no such heading"),
        ("#a-heading", ""),
        ("https://example.com/x", ""),
        (f"{REPOSITORY}/blob/main/docs/index.md", ""),
        (f"{REPOSITORY}/blob/main/docs/nowhere.md", "no such file"),
        (f"{REPOSITORY}/blob/main/docs", "no such file"),
        (f"{REPOSITORY}/tree/main/docs", ""),
        (f"{REPOSITORY}/blob/main/docs/text.md#nowhere", "no such heading there"),
        (f"{REPOSITORY}/issues", ""),
        (f"https://raw.githubusercontent.com{urlsplit(REPOSITORY).path}/main/docs/inspect.svg", ""),
        (f"https://raw.githubusercontent.com{urlsplit(REPOSITORY).path}/main/docs/no.svg", "no such file"),
    ],
)
def test_a_link_that_does_not_work_is_found(link: str, what: str) -> None:
    assert problem(link, "## A heading") == what


def test_links_pictures_and_html_are_all_looked_at() -> None:
    html = '<p><img src="e.svg"><a href="f.md">g</a></p>'
    page = f"[a](b.md) ![c](d.png)\n\n{html}\n\n[h]\n\n[h]: i.md\n\n```\n[no](no.md)\n```\n"
    assert links(page) == ["b.md", "d.png", "e.svg", "f.md", "i.md"]


def test_the_metadata_holds_the_readme(metadata: Message) -> None:
    assert metadata.get_payload(decode=True) == README().encode()
