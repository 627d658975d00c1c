"""Nothing that is quoted becomes a call: results, errors, user text, reasoning, file contents, tool names."""

from __future__ import annotations

import pytest

from embedded.injections import INJECTIONS
from embedded.text_feeding import FORMATS, read_text
from embedded.text_tools import TOOLS
from toolwire import ChunkResponse, StopReason
from toolwire.embedded.history import as_text_conversation
from toolwire.embedded.registry import text_format
from toolwire.embedded.text_reader import TextReader
from toolwire.errors import ToolDefinitionError
from toolwire.messages import Message, TextPart, ToolResultPart
from toolwire.stream.handlers import HybridStreamingResponseHandler, ParsingStreamingResponseHandler
from toolwire.stream.invocation import ToolInvocationAdapter
from toolwire.tools.definition import ToolDefinition, is_tool_name
from toolwire.tools.registry import ToolRegistry

STOP = ChunkResponse(stop_reason=StopReason.STOP, is_complete=True)


def test_there_are_enough_of_them() -> None:
    assert len(INJECTIONS) >= 500


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("is_error", [False, True], ids=["result", "error"])
def test_results_and_errors(name: str, is_error: bool) -> None:
    """A result in the format's own dress, word for word repeated by the model, calls nothing."""
    format_ = text_format(name)
    for injection in INJECTIONS:
        part = ToolResultPart("c1", "search", injection, is_error)
        written = format_.write_result(part, injection)
        for text in (written, f"It said:\n{written}\nand so on. {written}"):
            reading = read_text(format_, [text])
            assert reading.calls == [], text
            assert reading.rebuilt == text


@pytest.mark.parametrize("name", FORMATS)
def test_results_under_the_name_of_another(name: str) -> None:
    """The name of a tool in a result comes from the call, which may have named anything."""
    format_ = text_format(name)
    for injection in INJECTIONS:
        text = format_.write_result(ToolResultPart("c1", injection, "ok"), "ok")
        assert read_text(format_, [text]).calls == [], text


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("handler_type", [ParsingStreamingResponseHandler, HybridStreamingResponseHandler])
def test_reasoning_refusals_and_alternatives(name: str, handler_type: type[ParsingStreamingResponseHandler]) -> None:
    read = text_format(name).read
    for injection in INJECTIONS:
        handler = handler_type(
            lambda: TextReader(lambda scanner: read(scanner, TOOLS)), name, ToolInvocationAdapter(TOOLS)
        )
        handler.feed(ChunkResponse(reasoning=injection))
        handler.feed(ChunkResponse("Hi. "))
        handler.feed(ChunkResponse(refusal=injection))
        handler.feed(ChunkResponse(injection, choice=1))
        handler.feed(STOP)
        assert handler.get_all_invocations() == []
        assert handler.calls == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", FORMATS)
def test_file_contents(name: str) -> None:
    """What is written into a file is written into the file: one call, with exactly this content."""
    format_ = text_format(name)
    tool = TOOLS["write_file"]
    for injection in INJECTIONS:
        arguments = {"path": "notes.md", "content": f"before\n{injection}\nafter"}
        text = format_.write_call("write_file", arguments, tool)
        assert read_text(format_, [text]).calls == [("write_file", arguments)], text
        bare = {"path": "notes.md", "content": injection}
        text = format_.write_call("write_file", bare, tool)
        assert read_text(format_, text).calls == [("write_file", bare)], text


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("tool", "argument"), [("search", "query"), ("run_bash", "command"), ("edit_file", "patch")])
def test_arguments(name: str, tool: str, argument: str) -> None:
    format_ = text_format(name)
    more = {"path": "a"} if tool == "edit_file" else {}
    for injection in INJECTIONS:
        arguments = {**more, argument: injection}
        text = format_.write_call(tool, arguments, TOOLS[tool])
        assert read_text(format_, [f"Then {text} done"]).calls == [(tool, arguments)], text


@pytest.mark.parametrize("name", FORMATS)
def test_paths(name: str) -> None:
    format_ = text_format(name)
    for injection in INJECTIONS:
        arguments = {"path": injection, "content": "x"}
        text = format_.write_call("write_file", arguments, TOOLS["write_file"])
        assert read_text(format_, [text]).calls == [("write_file", arguments)], text


@pytest.mark.parametrize("name", FORMATS)
def test_tool_names(name: str) -> None:
    """No tool can be called so, and a call that names one is no call; nor does the name call another."""
    format_ = text_format(name)
    for injection in INJECTIONS:
        if not is_tool_name(injection):
            with pytest.raises(ToolDefinitionError):
                ToolDefinition(injection)
        text = format_.write_call(injection, {"query": "x"}, None)
        assert read_text(format_, [text]).calls == [], text


@pytest.mark.thorough
@pytest.mark.parametrize("name", FORMATS)
def test_arguments_of_tools_that_there_are_not(name: str) -> None:
    """A call of no tool is text as a whole: nothing in it is looked at for calls."""
    format_ = text_format(name)
    for injection in INJECTIONS:
        for arguments in ({"query": injection}, {"rows": [{"text": injection}]}, {"path": "a", "content": injection}):
            for nobody in ("nobody", "create_note"):
                text = format_.write_call(nobody, arguments, None)
                assert read_text(format_, [text]).calls == [], text


@pytest.mark.parametrize("name", FORMATS)
def test_tools_that_are_not_offered(name: str) -> None:
    """A tool with a form of its own (`write_file`) that is not offered now: its body is no place for calls either."""
    format_ = text_format(name)
    offered = ToolRegistry([TOOLS["search"], TOOLS["ping"]])
    for injection in INJECTIONS:
        for tool, body in (("write_file", "content"), ("run_bash", "command")):
            text = format_.write_call(tool, {body: injection}, TOOLS[tool])
            assert read_text(format_, [text], offered).calls == [], text


@pytest.mark.parametrize("name", FORMATS)
def test_user_text_and_history(name: str) -> None:
    """What the user says stays the user's, word for word: only an answer is ever read, and it is none."""
    format_ = text_format(name)
    for injection in INJECTIONS[::7]:
        messages = as_text_conversation([Message("user", [TextPart(injection)])], list(TOOLS), format_)
        assert [message.role for message in messages] == ["system", "user"]
        assert messages[1].text == injection
        assert not messages[0].text.count("INJECTED")
