"""The events of the Responses API, one function for each thing that an answer holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .subject import without

Event = dict[str, Any]

SIZE = 250
USAGE = {
    "input_tokens": 1102,
    "input_tokens_details": {"cached_tokens": 1024},
    "output_tokens": 846,
    "output_tokens_details": {"reasoning_tokens": 64},
    "total_tokens": 1948,
}
MESSAGE_ID, CALL_ID, THOUGHT_ID = "msg_" + "09c69534b7f6ae19" * 3, "fc_" + "09c69534b7f6ae19" * 3, "rs_" + "9c" * 24


def event(kind: str, **members: Any) -> Event:
    return without({"type": f"response.{kind}", **members})


def response(status: str, output: Sequence[Any] = (), **more: Any) -> Event:
    made = {"id": "resp_09c69534b7f6ae190169fb7cdd53f081", "object": "response", "created_at": 1778089181}
    made |= {"status": status, "background": False, "error": None, "incomplete_details": None, "instructions": None}
    made |= {"model": "gpt-5.4", "output": list(output), "parallel_tool_calls": True, "store": False, "tools": []}
    return {**made, "usage": None if status == "in_progress" else USAGE, "metadata": {}, **more}


def begin() -> list[Event]:
    return [event(kind, response=response("in_progress")) for kind in ("created", "in_progress")]


def end(output: Sequence[Any] = (), status: str = "completed", **more: Any) -> Event:
    return event(status, response=response(status, output, **more))


def added(item: Any, index: Any = 0, kind: str = "added") -> Event:
    return event(f"output_item.{kind}", output_index=index, item=item)


def done(item: Any, index: Any = 0) -> Event:
    return added(item, index, "done")


def message(text: str, **more: Any) -> Event:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}] if text else []
    status = "completed" if text else "in_progress"
    return {"id": MESSAGE_ID, "type": "message", "role": "assistant", "status": status, "content": content, **more}


def at(index: Any = 0, item: Any = MESSAGE_ID, **more: Any) -> Event:
    return {"item_id": item, "output_index": index, "content_index": 0, **more}


def words(text: Any, index: Any = 0, **more: Any) -> Event:
    return event("output_text.delta", **at(index), delta=text, logprobs=[], **more)


def text_item(*texts: str, index: Any = 0) -> list[Event]:
    text = "".join(texts)
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    return [
        added(message(""), index),
        event("content_part.added", **at(index), part=part),
        *(words(one, index) for one in texts),
        event("output_text.done", **at(index), text=text),
        event("content_part.done", **at(index), part={**part, "text": text}),
        done(message(text), index),
    ]


def function(arguments: Any = "", *, call_id: Any = "call_1", name: Any = "get_weather", **more: Any) -> Event:
    item = {"id": CALL_ID, "type": "function_call", "status": "completed" if arguments else "in_progress"}
    return without({**item, "arguments": arguments, "call_id": call_id, "name": name, **more})


def piece(text: Any, index: Any = 0, **more: Any) -> Event:
    place = {"item_id": CALL_ID, "output_index": index, **more}
    return event("function_call_arguments.delta", **place, delta=text)


def call(*pieces: str, index: Any = 0, **more: Any) -> list[Event]:
    text = "".join(pieces)
    item_id = more.get("id", CALL_ID)
    return [
        added(function("", **more), index),
        *(piece(one, index, item_id=item_id) for one in pieces),
        event("function_call_arguments.done", item_id=item_id, output_index=index, arguments=text),
        done(function(text, status="completed", **more), index),
    ]


def thought(summary: Sequence[str] = (), **more: Any) -> Event:
    texts = [{"type": "summary_text", "text": text} for text in summary]
    return {"id": THOUGHT_ID, "type": "reasoning", "summary": texts, **more}


def thinking(*words: str, index: Any = 0) -> list[Event]:
    place = {"item_id": THOUGHT_ID, "output_index": index, "summary_index": 0}
    text = "".join(words)
    return [
        added(thought(encrypted_content="aaa"), index),
        event("reasoning_summary_part.added", **place, part={"type": "summary_text", "text": ""}),
        *(event("reasoning_summary_text.delta", **place, delta=word) for word in words),
        event("reasoning_summary_text.done", **place, text=text),
        event("reasoning_summary_part.done", **place, part={"type": "summary_text", "text": text}),
        done(thought([text], encrypted_content="bbb"), index),
    ]


def raw_thinking(*words: str) -> list[Event]:
    place = {"item_id": THOUGHT_ID, "output_index": 0, "content_index": 0}
    last = thought(content=[{"type": "reasoning_text", "text": "".join(words)}])
    deltas = [event("reasoning_text.delta", **place, delta=word) for word in words]
    return [added(thought()), *deltas, event("reasoning_text.done", **place, text="".join(words)), done(last)]


def numbered(events: Sequence[Event]) -> list[Event]:
    return [{**one, "sequence_number": number} for number, one in enumerate(events)]


def custom() -> list[Event]:
    item = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "get_weather", "input": ""}
    place = {"item_id": "ctc_1", "output_index": 0}
    deltas = [event("custom_tool_call_input.delta", **place, delta=text) for text in ('say "', "é\n", '🦊"')]
    last = event("custom_tool_call_input.done", **place, input='say "é\n🦊"')
    return [added(item), *deltas, last, done({**item, "input": 'say "é\n🦊"', "status": "completed"})]


SERVER_ITEMS: list[Event] = [
    {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}},
    {"id": "fs_1", "type": "file_search_call", "status": "completed", "queries": ["x"], "results": None},
    {"id": "ci_1", "type": "code_interpreter_call", "code": "1+1", "container_id": "c", "outputs": []},
    {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "QUJD"},
    {"id": "mcp_1", "type": "mcp_call", "name": "echo", "arguments": "{}", "server_label": "s", "output": "x"},
    {"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "s", "tools": []},
    {"id": "mcpr_1", "type": "mcp_approval_request", "name": "echo", "arguments": "{}", "server_label": "s"},
    {"id": "cu_1", "type": "computer_call", "call_id": "c", "action": {"type": "screenshot"}, "status": "completed"},
    {"id": "sh_1", "type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}, "status": "completed"},
    {"id": "cmp_1", "type": "compaction", "encrypted_content": "x"},
    {"id": "new_1", "type": "new_item", "x": [1]},
]
