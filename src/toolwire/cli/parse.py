"""`toolwire parse`: the text of answers in, one JSON object a line out."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..errors import IncompleteStream, ProtocolError, ToolwireError
from ..limits import Limits
from ..stream.text import TextStream
from .inputs import SMALL, read_pieces
from .showing import Showing
from .text_formats import named_format
from .tools_file import load_tools_file

if TYPE_CHECKING:
    from ..stream.reading import AnswerStream

_LIMITS = Limits(stream=SMALL)
"""As for other files of text; what is read stays in memory until its end."""


def parse(
    *files: Annotated[str, Parameter(name="FILE")],
    format: Annotated[str | None, Parameter(metavar="FORMAT")] = None,
    tools: Annotated[str | None, Parameter(metavar="TOOLS.JSON")] = None,
    provider: Annotated[str | None, Parameter(metavar="PROVIDER")] = None,
    model: Annotated[str | None, Parameter(metavar="MODEL")] = None,
    reasoning: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    repair: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    summary: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    cut: Annotated[str | None, Parameter(metavar="CUT")] = None,
    fields: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Finds the tool calls in the text of answers, one JSON object per line.

    Parameters
    ----------
    files
        What models wrote, as plain text in UTF-8; none, or "-", is standard input.
    format
        The text format, such as xml or hermes (all: toolwire formats). Without it, what suits provider and model, or
        else json.
        auto is what the model's name says, or else what the answer shows.
    tools
        The tools that there are: other names stay text, and calls are checked. Without it, every name is a tool.
    provider
        Whose model wrote it: says which envelope json means.
    model
        Which model wrote it.
    reasoning
        The answer begins within reasoning, since its prompt opened it.
    repair
        Mend malformed calls where that can be done, and say what was done.
    summary
        One object a file: text, calls, how it ended.
    cut
        Feed the bytes cut, every N (7) or at random (random:SEED). The result is the same.
    fields
        Show arguments decoded while they arrive.
    """
    offered = None if tools is None else load_tools_file(tools)
    chosen = named_format(format, provider, model, offered)
    begin = partial(TextStream, chosen, offered, reasoning=reasoning, repair=repair, limits=_LIMITS)
    return _Parsing(begin, files, cut, tools=offered, summary=summary, fields=fields).show_all()


class _Parsing(Showing):
    """Plain text."""

    def __init__(self, begin: Callable[..., TextStream], *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._begin = begin

    def _read(self, name: str, shown: str) -> tuple[AnswerStream, ToolwireError | None]:
        stream = self._begin(live_arguments=self._fields)
        try:
            for text in _texts(self._cuts(read_pieces(name))):
                self._print(stream.feed(text), shown)
                if stream.error is not None:
                    break
            self._print(stream.close(), shown)
        except (ProtocolError, IncompleteStream) as error:
            self._print(stream.fail(error), shown)
        return stream, stream.error


def _texts(pieces: Iterable[bytes]) -> Iterator[str]:
    """The text of these bytes, without a byte order mark. Raises for what is no UTF-8, after what came before it."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    taken = 0
    is_start = True
    for data, final in chain(((data, False) for data in pieces), [(b"", True)]):
        held = len(decoder.getstate()[0])
        fault = None
        try:
            text = decoder.decode(data, final)
        except UnicodeDecodeError as error:
            text = error.object[: error.start].decode()
            fault = _fault(taken - held + error.start, final=final)
        taken += len(data)
        if text:
            yield text.removeprefix("\ufeff") if is_start else text
            is_start = False
        if fault is not None:
            raise fault


def _fault(position: int, *, final: bool) -> ToolwireError:
    if final:
        return IncompleteStream(f"it ends in the middle of a character, at byte {position:,}", position=position)
    return ProtocolError(
        f"it is not UTF-8 text: byte {position:,} belongs to no character",
        hint="Save it as UTF-8. Recorded streams are read by toolwire decode.",
        position=position,
    )
