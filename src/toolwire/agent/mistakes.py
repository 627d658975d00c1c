"""What in an answer was meant as a call and is none. It has no result to say what was wrong, so the model is told."""

from __future__ import annotations

from ..chunks import RUNNABLE_STOPS
from ..embedded.choosing import StreamParser
from ..embedded.examples import example_arguments
from ..stream.pipeline import Stream
from ..stream.segments import CALL_SEGMENTS, EventType, SegmentEvent
from ..tools.registry import ToolRegistry

UNEXPECTED = "UNEXPECTED_TOOL_CALL"
MALFORMED_STOPS = frozenset({"MALFORMED_FUNCTION_CALL", UNEXPECTED, "malformed_tool_use"})
"""Providers' own words for an answer that was to be a call and became nothing: Gemini's and Bedrock's."""


class Mistakes:
    """Of one answer."""

    def __init__(self, tools: ToolRegistry, parser: StreamParser) -> None:
        self._tools = tools
        self._parser = parser
        self._unknown: list[str] = []
        self._nameless: list[str] = []

    def note(self, event: SegmentEvent) -> None:
        """Looks at one event of the answer."""
        if event.type is EventType.DONE and event.metadata:
            self._unknown = event.metadata.get("unknown_tools", self._unknown)
        elif event.type is EventType.START and event.segment_type in CALL_SEGMENTS and not event.tool_name:
            self._nameless.append(event.segment_id)

    def made(self, stream: Stream) -> bool:
        """Whether the model meant to make calls that nobody saw: where it has no other way than its text to make them,
        or where the provider says so.
        """
        if stream.raw_stop_reason in MALFORMED_STOPS:
            return True
        meant = not self._parser.native and stream.stop_reason in RUNNABLE_STOPS
        return meant and bool(self._unknown or self._nameless)

    def words(self, stream: Stream) -> str:
        """What the model is told: what was wrong, and the form that is expected."""
        broken = dict.fromkeys(stream.problems[segment_id] for segment_id in self._nameless)
        sentences = [f"Error: not run: {problem}." for problem in broken]
        if self._unknown:
            wrong = ", ".join(repr(name[:64]) for name in self._unknown)
            known = ", ".join(self._tools.names)
            sentences.append(f"Error: not run: there is no tool {wrong}. The tools are: {known}.")
        if stream.raw_stop_reason == UNEXPECTED and not len(self._tools):
            sentences.append("Error: not run: there are no tools to call. Answer in words.")
        elif not sentences:
            sentences.append("Error: not run: the call was malformed. Make it again, with arguments as the tool says.")
        format_, tool = self._parser.format, next(iter(self._tools), None)
        if format_ is not None and tool is not None:
            call = format_.write_call(tool.name, example_arguments(tool, optional=False), tool)
            sentences.append(f"A call is written so:\n{call.strip()}")
        return "\n".join(sentences)
