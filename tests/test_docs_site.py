"""The documentation site: built strictly, whole, and of nothing but its own files."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from scripts import docs_site

pytestmark = pytest.mark.thorough

LOADING = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "audio": "src",
    "video": "src",
    "object": "data",
    "use": "href",
    "form": "action",
}
"""What a browser fetches by itself, or sends something to."""


class Page(HTMLParser):
    """What a page loads, links to, and can be linked at."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.text: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            self.ids.add(given["id"] or "")
        if (name := LOADING.get(tag)) and given.get(name):
            self.loaded.append(given[name] or "")
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    docs_site.gather(folder)
    return docs_site.build(folder)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_page_is_in_the_navigation(site: Path, pages: dict[Path, Page]) -> None:
    """A page that nobody can come to by the navigation is as good as none."""
    index = pages[site / "index.html"]
    linked = {(site / unquote(link.partition("#")[0])).resolve() for link in index.links if "://" not in link}
    assert {path for path in pages if path.name != "404.html"} <= linked


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for address in page.loaded:
            parts = urlsplit(address)
            assert not parts.netloc, f"{path.name}: {address}"
            if parts.scheme != "data" and parts.path and path.name != "404.html":
                assert (path.parent / unquote(parts.path)).exists(), f"{path.name}: {address}"
        assert "default-src 'self'" in path.read_text()
    for style in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        text = style.read_text()
        assert "url(http" not in text, style
        assert 'url("http' not in text, style
        assert "@import" not in text, style


def test_links_lead_somewhere(pages: dict[Path, Page]) -> None:
    """Also those that the theme makes."""
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in pages and parts.fragment != "__skip":
                assert unquote(parts.fragment) in pages[target].ids, f"{path.name}: {link}"


def test_search_finds_words_without_a_server(site: Path) -> None:
    """The index stands in a script too, which a page opened as a file may load."""
    assert "toolwire policy explain" in (site / "search.json").read_text()
    assert (site / "search.js").stat().st_size > 100_000


def test_markdown_is_laid_out(pages: dict[Path, Page]) -> None:
    """What one dialect of Markdown knows and another shows as it stands: fences, tables, headings within text."""
    for path, page in pages.items():
        text = "".join(page.text)
        assert "\n```" not in text, path.name
        assert "| ---" not in text, path.name
        assert "|---" not in text, path.name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("[there](nowhere.md)", "page does not exist"),
        ("[there](mcp.md#nowhere)", "anchor does not exist"),
    ],
)
def test_a_dead_link_ends_the_build(tmp_path: Path, words: str, said: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Pages\n\n{words}\n")
    (tmp_path / "docs" / "mcp.md").write_text("# MCP\n")
    (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "x"\nsite_dir = "build/site"\n')
    with pytest.raises(docs_site.BrokenSite, match=said):
        docs_site.build(tmp_path)
