"""Builds the documentation site into `build/site`, strictly: a link or an anchor that leads nowhere ends it.

The tool wants pages and site below one folder, and keeps a cache there; so a copy is built, and the project stays as
it was. Into the copy go the pages that stand beside docs/ as well, with their links turned.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "site"
BESIDE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages of the project's root, and what they are called in the site."""
BOUND = 120
"""Seconds that a build may take; it needs three."""


class BrokenSite(Exception):
    """The tool's own words on what is wrong."""


def gather(folder: Path) -> None:
    """All that the site is made of, into `folder`."""
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("*.txt"))
    shutil.copytree(ROOT / "scripts" / "docs_theme", folder / "scripts" / "docs_theme")
    shutil.copy(ROOT / "zensical.toml", folder)
    for name, called in BESIDE.items():
        text = (ROOT / name).read_text().replace("](docs/", "](")
        for other, other_called in BESIDE.items():
            text = text.replace(f"]({other}", f"]({other_called}")
        (folder / "docs" / called).write_text(text)
    for page in (folder / "docs").rglob("*.md"):
        text = turned = page.read_text()
        up = "../" * len(page.relative_to(folder / "docs").parts)
        for name, called in BESIDE.items():
            turned = turned.replace(f"]({up}{name}", f"]({up[3:]}{called}")
        if turned != text:
            page.write_text(turned)


def build(folder: Path) -> Path:
    """Builds what `gather` brought together; gives the folder of the site."""
    line = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", "zensical.toml"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=BOUND, check=False)
    if done.returncode:
        raise BrokenSite(done.stdout + done.stderr)
    return folder / "build" / "site"


def main() -> int:
    """The site in `build/site`, or what is wrong with it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        gather(folder)
        try:
            site = build(folder)
        except BrokenSite as broken:
            print(broken, file=sys.stderr)
            return 1
        shutil.rmtree(SITE, ignore_errors=True)
        shutil.copytree(site, SITE)
    print(f"built {len(list(SITE.rglob('*.html')))} pages; open {(SITE / 'index.html').relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
