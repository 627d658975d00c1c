"""OpenAI Responses: the encoding half, conversation + tools → request body. Pure: a dict comes out.

The input is a flat list of items: messages, `function_call` and `function_call_output`, reasoning. What came from this
wire goes back as it came: reasoning items whole and in their place, messages and calls under their own ids, what the
provider's own tools did as their items. System messages at the start are the `instructions`, which are sent with every
request, also with `previous_response_id`; later ones are items of role `system`.

Two rules of the server about reasoning are kept here. A reasoning item may not go back without the item that followed
it: one at the end of an answer that was cut is left out. And an item may not go back under its id without the reasoning
that led to it: where that reasoning cannot go back, because the server neither kept it nor gave it encrypted, the items
after it go back without their ids, and the server takes them as new. Calls that the provider wants the client to run
and that nobody here runs (`computer_call`, `local_shell_call` and the like), or to approve, stay out, since the server
would want an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..messages import MediaPart, Message, Part, TextPart, ToolCallPart, ToolResultPart
from .encoding import (
    TOOL_CHOICES,
    arguments_text,
    check_tool_choice,
    inline_media,
    media_url,
    misplaced,
    offered_names,
    own,
    result_text,
)
from .names import COMMON_RULE
from .strict_schema import strict_schema

if TYPE_CHECKING:
    from ..tools.definition import ToolDefinition

WIRE = "openai-responses"
ENCRYPTED_REASONING = "reasoning.encrypted_content"
"""What `include` must name for reasoning that the server does not keep."""

_STATUSES = ("completed", "incomplete")
_CUSTOM = "custom_tool_call"
_CLIENT_CALLS = (
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "tool_search_call",
    "mcp_approval_request",
)

Item = dict[str, Any]


def encode_responses_request(
    *,
    model: str,
    messages: Iterable[Message],
    tools: Iterable[ToolDefinition] = (),
    tool_choice: str = "auto",
    max_tokens: int | None = None,
    temperature: float | None = None,
    stream: bool = True,
    strict: bool = False,
    store: bool | None = None,
    include: Sequence[str] = (),
    use_previous_response: bool = False,
    reasoning_effort: str | None = None,
    reasoning_summary: str | None = None,
) -> dict[str, Any]:
    """The request body. `tool_choice` is `auto`, `none`, `required` or the name of a tool.

    `strict` offers each tool under a schema that the model is held to (see `strict_schema`); a tool whose schema
    cannot be written so is offered with `"strict": false`, which the body shows. `store=False` makes the server keep
    nothing; reasoning then goes back only where it was asked for with `include=[ENCRYPTED_REASONING]`, which is added
    when a `reasoning_effort` or a summary is given. `use_previous_response` sends only what follows the last answer
    that the server has kept, under its id, and the whole conversation where there is none.
    """
    messages = list(messages)
    instructions, rest = _instructions(messages)
    body: dict[str, Any] = {"model": model}
    if instructions:
        body["instructions"] = instructions
    calls = {part.id: _call_item(part) for message in messages for part in message.tool_calls}
    if use_previous_response:
        previous, rest = _after_previous(rest)
        if previous:
            body["previous_response_id"] = previous
            _give_back_ids(messages[: len(messages) - len(rest)], calls)
    body["input"] = _items(rest, calls, store)
    _add_tools(body, list(tools), tool_choice, strict=strict)
    if max_tokens is not None:
        body["max_output_tokens"] = max_tokens
    if temperature is not None:
        body["temperature"] = temperature
    reasoning = {"effort": reasoning_effort, "summary": reasoning_summary}
    reasoning = {name: value for name, value in reasoning.items() if value is not None}
    if reasoning:
        body["reasoning"] = reasoning
    wanted = list(include)
    if store is not None:
        body["store"] = store
        if not store and reasoning and ENCRYPTED_REASONING not in wanted:
            wanted.append(ENCRYPTED_REASONING)
    if wanted:
        body["include"] = wanted
    if stream:
        body["stream"] = True
    return body


def _add_tools(body: dict[str, Any], tools: list[ToolDefinition], tool_choice: str, *, strict: bool) -> None:
    check_tool_choice(tool_choice, tools)
    if not tools:
        return
    offered = []
    for name, tool in zip(offered_names(tools, COMMON_RULE), tools, strict=True):
        held_to = strict_schema(tool.parameters) if strict else None
        offered.append(
            {
                "type": "function",
                "name": name,
                "description": tool.description,
                "parameters": tool.parameters if held_to is None else held_to,
                "strict": held_to is not None,
            }
        )
    body["tools"] = offered
    if tool_choice not in TOOL_CHOICES:
        body["tool_choice"] = {"type": "function", "name": COMMON_RULE.wire_name(tool_choice)}
    elif tool_choice != "auto":
        body["tool_choice"] = tool_choice


def _instructions(messages: list[Message]) -> tuple[str, list[Message]]:
    """The system messages at the start, joined, and what follows them."""
    leading = 0
    while leading < len(messages) and messages[leading].role == "system":
        leading += 1
    return "\n\n".join(message.text for message in messages[:leading] if message.text), messages[leading:]


def _after_previous(messages: list[Message]) -> tuple[str, list[Message]]:
    """The id of the last answer that the server has kept, and what follows it; all where there is none."""
    for number in range(len(messages) - 1, -1, -1):
        response = _response(messages[number])
        if messages[number].role == "assistant" and response.get("stored"):
            return response["response_id"], messages[number + 1 :]
    return "", messages


def _give_back_ids(messages: list[Message], calls: dict[str, Item]) -> None:
    """The server knows the calls that it has kept by its own ids, also where a moved history has others."""
    for message in messages:
        for part in message.tool_calls:
            given = own(part.provider_data, WIRE).get("call_id")
            if isinstance(given, str):
                calls[part.id]["call_id"] = given


def _response(message: Message) -> dict[str, Any]:
    """What the server said of the answer as a whole."""
    for block in message.provider_data:
        if block.get("wire") == WIRE and isinstance(block.get("response_id"), str):
            return block
    return {}


def _items(messages: list[Message], calls: dict[str, Item], store: bool | None) -> list[Item]:
    items: list[Item] = []
    for message in messages:
        if message.role == "assistant":
            items += _assistant(message, store)
        elif message.role == "tool":
            items += [_result(part, calls) for part in message.parts]
        elif message.role == "user":
            items.append({"role": "user", "content": _user_content(message)})
        else:
            items.append({"role": "system", "content": message.text})
    return items


def _user_content(message: Message) -> str | list[Item]:
    parts = message.parts
    if all(isinstance(part, TextPart) for part in parts):
        return message.text
    return [_input_content(part, "user") for part in parts]


def _input_content(part: Part, role: str) -> Item:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    if not isinstance(part, MediaPart):
        raise misplaced(part, role)
    kind = part.media_type.split("/", 1)[0]
    if kind == "image":
        return {"type": "input_image", "image_url": media_url(part), "detail": "auto"}
    if kind in ("audio", "video"):
        raise ConfigError(
            f"the Responses API takes no {part.media_type}",
            hint="It takes images and files; chat completions take audio (wav, mp3) as base64 data.",
        )
    if inline_media(part) is not None:
        return {"type": "input_file", "filename": part.name or "file", "file_data": media_url(part)}
    return {"type": "input_file", "file_url": media_url(part)}


def _result(part: Part, calls: dict[str, Item]) -> Item:
    if not isinstance(part, ToolResultPart):
        raise misplaced(part, "tool")
    output: str | list[Item]
    if isinstance(part.content, str) or all(isinstance(item, TextPart) for item in part.content):
        output = result_text(part, mark_errors=True)
    else:
        output = [_input_content(item, "tool") for item in part.content]
        if part.is_error:
            output.insert(0, {"type": "input_text", "text": "Error:"})
    call = calls.get(part.id, {})
    kind = "custom_tool_call_output" if call.get("type") == _CUSTOM else "function_call_output"
    result: Item = {"type": kind, "call_id": call.get("call_id") or part.id, "output": output}
    if call.get("caller") is not None:
        # A program on the server made the call, and is given the result.
        result["caller"] = call["caller"]
    return result


class _Placed:
    """An item and its place in the answer.

    For a message, `pieces` are the words that go into the member `words` of `holder`, and `number` says which part of
    the message they belong to.
    """

    __slots__ = ("holder", "item", "number", "pieces", "place", "words")

    def __init__(self, place: float, item: Item) -> None:
        self.place = place
        self.item = item
        self.holder: Item = item
        self.words = ""
        self.pieces: list[str] = []
        self.number: Any = None

    def begin(self, holder: Item, words: str, number: Any) -> None:
        """Ends the part that is open, and begins another."""
        self.finish()
        self.holder, self.words, self.number, self.pieces = holder, words, number, []

    def finish(self) -> None:
        """Writes the words of the part that is open."""
        if self.words:
            self.holder[self.words] = "".join(self.pieces)


def _assistant(message: Message, store: bool | None) -> list[Item]:
    """The items of an answer in the server's own order, which `index` keeps; one without it stays behind the last."""
    placed: list[_Placed] = []
    messages: dict[float, _Placed] = {}
    place: float = -1
    for part in message.parts:
        data = _own(part)
        index = data.get("index")
        place = index if isinstance(index, (int, float)) else place
        if isinstance(part, TextPart):
            if isinstance(data.get("item"), dict):
                _add_own_text(placed, messages, place, part, data)
            elif part.text:
                _add_text(placed, place, part.text)
        elif isinstance(part, ToolCallPart):
            placed.append(_Placed(place, _call(part)))
        elif isinstance(part, ToolResultPart):
            raise misplaced(part, "assistant")
        elif isinstance(data.get("item"), dict):
            item = _sent(data["item"])
            if isinstance(part, MediaPart):
                inline = inline_media(part)
                item["result"] = inline[1] if inline is not None else media_url(part)
            placed.append(_Placed(place, item))
    for one in placed:
        one.finish()
    placed.sort(key=lambda one: one.place)
    return _paired([one.item for one in placed], stored=store is not False and _response(message).get("stored", True))


def _own(part: Part) -> dict[str, Any]:
    return {} if isinstance(part, ToolResultPart) else own(part.provider_data, WIRE)


def _sent(item: Item) -> Item:
    """An item as it was sent, without what was not said: the server refuses some members that are null."""
    return {name: value for name, value in item.items() if value is not None}


def _add_text(placed: list[_Placed], place: float, text: str) -> None:
    """Words from elsewhere: a message without an id, which the server takes as text alone."""
    if not placed or placed[-1].words != "content":
        message = {"role": "assistant", "content": ""}
        placed.append(_Placed(place, message))
        placed[-1].begin(message, "content", None)
    placed[-1].pieces.append(text)


def _add_own_text(
    placed: list[_Placed], messages: dict[float, _Placed], place: float, part: TextPart, data: dict[str, Any]
) -> None:
    """Words from this wire: into the message they came in, each part of it by itself."""
    item, number = data["item"], data.get("part")
    words = "refusal" if part.refusal else "text"
    known = messages.get(place)
    if known is None or known.item.get("id") != item.get("id"):
        message = {"type": "message", "role": "assistant", **_sent(item), "content": []}
        if message.get("status") not in _STATUSES:
            message.pop("status", None)
        messages[place] = known = _Placed(place, message)
        placed.append(known)
    if known.number != number or known.words != words:
        content: Item = {"type": "refusal"} if part.refusal else {"type": "output_text"}
        known.begin(content, words, number)
        known.item["content"].append(content)
    if not part.refusal:
        known.holder["annotations"] = data.get("annotations") or []
    known.pieces.append(part.text)


def _call_item(part: ToolCallPart) -> Item:
    """What this wire said of a call beside its name and arguments."""
    item = own(part.provider_data, WIRE).get("item")
    return _sent(item) if isinstance(item, dict) else {}


def _call(part: ToolCallPart) -> Item:
    kept = _call_item(part)
    if kept.get("status") not in _STATUSES:
        kept.pop("status", None)
    kept["call_id"], kept["name"] = part.id, COMMON_RULE.wire_name(part.name)
    if kept.get("type") == _CUSTOM:
        text = part.arguments.get("input")
        kept["input"] = text if isinstance(text, str) else ""
    else:
        kept["type"] = "function_call"
        kept["arguments"] = arguments_text(part)
    return kept


def _paired(items: list[Item], *, stored: bool) -> list[Item]:
    """The items with the two rules about reasoning kept (see the head of this module)."""
    answered = {item["call_id"] for item in items if _is_answer(item)}
    sent = [not _is_unanswered(item, answered) for item in items]
    kept: list[Item] = []
    orphans = False
    follower = -1
    followers = [-1] * len(items)
    for number in range(len(items) - 1, -1, -1):
        followers[number] = follower
        if items[number].get("type") != "reasoning":
            follower = number
    for number, item in enumerate(items):
        if item.get("type") == "reasoning":
            after = followers[number]
            # What was cut or changed since is not the item that the server knows: it has no id.
            followed = after >= 0 and sent[after] and ("id" in items[after] or "id" not in item)
            known = stored or bool(item.get("encrypted_content") or item.get("content"))
            # OpenRouter, which marks its items with a format, gives reasoning after the text that it led to.
            orphans = not known or not (followed or "format" in item)
            if not orphans:
                kept.append(item)
        elif sent[number]:
            if orphans and item.get("type") in ("message", "function_call", _CUSTOM):
                item.pop("id", None)
            kept.append(item)
    return kept


def _is_answer(item: Item) -> bool:
    kind = item.get("type")
    return isinstance(kind, str) and kind.endswith("_output") and isinstance(item.get("call_id"), str)


def _is_unanswered(item: Item, answered: set[str]) -> bool:
    """Whether it is a call that the client should have run, and nobody here runs: the server wants an answer to it."""
    if item.get("type") == "tool_search_call" and item.get("execution") != "client":
        return False
    call_id = item.get("call_id")
    return item.get("type") in _CLIENT_CALLS and not (isinstance(call_id, str) and call_id in answered)
