"""`search_files`: lines that fit a pattern, in the files of a folder.

One walk says which files there are, one reader says which lines fit; ripgrep, where it is installed, only says which
files need not be read. So the answers are the same with it and without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ..approval.patterns import is_below
from ..errors import ConfigError, FileRefused
from ..execution.sandbox.sandbox import Sandbox
from ..files.beneath import Roots
from ..tools.definition import ToolDefinition
from ..tools.function import as_definition, tool
from ..tools.running import progress, this_call
from .ignoring import Glob
from .paths import real_path, roots, shown, with_near_names
from .search_pattern import Written, read_pattern
from .searching_answer import Answer, Output
from .searching_python import compile_pattern, fitting_lines, read_text
from .searching_ripgrep import WORTH_BYTES, WORTH_FILES, Ripgrep, find_ripgrep, key
from .searching_walk import Clock, Named, Walk

SECONDS = 30.0
"""How long a search goes on; then what was found so far is told."""
LIMIT = 1_000
CONTEXT = 20

_BATCH = 4_000
"""Files that are looked for before they are searched: as many as one ripgrep is given."""
_BATCH_CHARACTERS = 400_000
"""Characters of their paths: programs take two megabytes of arguments."""


def searching_tools(sandbox: Sandbox | None) -> list[ToolDefinition]:
    """The tool that searches; with ripgrep where the sandbox can hold it."""

    @tool(risk="read", paths=["path"], timeout=2 * SECONDS)
    async def search_files(
        pattern: str,
        path: str = ".",
        glob: str = "",
        regex: bool = True,
        ignore_case: bool = False,
        context: int = 0,
        output: Output = "content",
        limit: int = 100,
        ignored: bool = False,
    ) -> str:
        """Search the text of files line by line. Gives file names, each with its matching lines and their numbers.

        Dotfiles are searched; .git, binary files and what .gitignore lists are not. Links are not followed.

        Args:
            pattern: A regular expression such as def \\w+\\( ; no look-around, no back-references, one line only
            path: The folder or file to search; without it the working folder
            glob: Only files that fit, such as *.py, src/**/*.{ts,tsx} or !*.lock
            regex: false to take the pattern as plain text
            ignore_case: true to find upper and lower case alike
            context: How many lines to show around each match, 0 to 20
            output: content for lines, files for names only, count for the number of matching lines of each file
            limit: How many matches (or files) to show at most, 1 to 1000
            ignored: true to search also what .gitignore lists
        """
        if not 0 <= context <= CONTEXT:
            raise ConfigError(f"context is {context}; give a number from 0 to {CONTEXT}")
        if not 1 <= limit <= LIMIT:
            raise ConfigError(f"limit is {limit}; give a number from 1 to {LIMIT:,}")
        call = this_call()
        written = read_pattern(pattern, regex=regex, ignore_case=ignore_case)
        real = real_path(path)
        walk = Walk(
            roots(),
            _top(real, call.roots),
            real,
            Clock(SECONDS),
            Glob(glob) if glob else None,
            ignored,
            call.is_closed,
        )
        search = Search(walk, written, Answer(output, limit, context))
        try:
            return await search.run(find_ripgrep(sandbox, call.roots, call.environment))
        except FileRefused as error:
            raise with_near_names(error) from None

    return [replace(as_definition(search_files), confined=True)]


def _top(real: str, all_roots: tuple[str, ...]) -> str:
    """The innermost root that a path lies in; the path itself if none does, which opening it will refuse."""
    above = [root for root in all_roots if is_below(real, root)]
    return max(above, key=len, default=real)


@dataclass
class Search:
    """One search: the walk, the pattern, and what is told."""

    walk: Walk
    written: Written
    answer: Answer
    worth_files: int = WORTH_FILES
    worth_bytes: int = WORTH_BYTES

    async def run(self, ripgrep: Ripgrep | None) -> str:
        """Searches to the end, or until nothing more would be shown or the time is up; gives what a model is told."""
        pattern = compile_pattern(self.written)
        walk, answer = self.walk, self.answer
        files = walk.files()
        try:
            while not answer.is_full:
                batch = await asyncio.to_thread(_batch, files)
                if not batch or walk.clock.is_over():
                    break
                chosen = await self._chosen(batch, ripgrep) if ripgrep else None
                await asyncio.to_thread(self._search, batch, chosen, pattern, walk.roots)
                progress(f"{answer.searched:,} files searched")
            answer.out_of_time = walk.clock.is_over()
        finally:
            walk.clock.stopped = True
        return answer.text(walk.left)

    async def _chosen(self, batch: list[Named], ripgrep: Ripgrep) -> set[str] | None:
        is_worth = len(batch) >= self.worth_files or sum(each.size for each in batch) >= self.worth_bytes
        if not ripgrep.works or not is_worth or not self.written.ripgrep:
            return None
        return await ripgrep.chosen([each.real for each in batch], self.written, self.walk.clock.seconds)

    def _search(self, batch: list[Named], chosen: set[str] | None, pattern: Any, beneath: Roots) -> None:
        """In a thread: the files one after the other. One that was not chosen has no line that fits."""
        clock, answer = self.walk.clock, self.answer
        for each in batch:
            if answer.is_full or clock.is_over():
                return
            if chosen is not None and key(each.real) not in chosen:
                answer.searched += 1
                continue
            try:
                text = read_text(beneath, each.real)
            except (FileRefused, OSError):
                self.walk.left.unreadable += 1
                continue
            if text is None:
                self.walk.left.binary += 1
                continue
            answer.searched += 1
            answer.add(shown(each.real), text, fitting_lines(text, pattern, clock.is_over))


def _batch(files: Iterator[Named]) -> list[Named]:
    batch: list[Named] = []
    characters = 0
    for each in islice(files, _BATCH):
        batch.append(each)
        characters += len(each.real)
        if characters > _BATCH_CHARACTERS:
            break
    return batch
