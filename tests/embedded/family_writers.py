"""Answers as each family of models writes them, made from the formats' tables and the models' chat templates alone.

A second hand: nothing here is taken from `toolwire.embedded`, so that what is read back exactly was read right. Where a
syntax leaves a choice (newlines, spacing, quotes, wrappers) it is made at random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from embedded.family_values import (
    Call,
    Sayable,
    anything,
    attributes_sayable,
    expression_of,
    expression_sayable,
    gemma_of,
    gemma_sayable,
    json_of,
    nested_sayable,
    object_of,
    raw_of,
    raw_sayable,
    typed_sayable,
)

Write = Callable[[random.Random, Sequence[Call]], str]
Wrap = Callable[[random.Random, str], str]


class Family(NamedTuple):
    """How one family writes what an answer has: its calls, its text, its reasoning."""

    write: Write
    """A group of calls that follow one another."""
    sayable: Sayable = anything
    think: tuple[str, str] | None = None
    """What stands around reasoning; what the prompt writes where it opens reasoning is the first of the two."""
    text: Wrap | None = None
    """What stands around text, where that is marked too."""
    ids: Callable[[random.Random, str, int], str] | None = None
    """The id of a call, by its tool's name and its number."""
    most: int = 3
    """Calls in one group."""
    before: bool = True
    """Whether text may stand before calls."""
    after: bool = True
    """Whether text may follow them, and then another group."""
    begins: str = ""
    """What an answer may lack at its beginning, since its prompt ends with it."""


def _gap(rng: random.Random) -> str:
    return rng.choice(("\n", "\n", "", " ", "\n\n"))


def _line(rng: random.Random) -> str:
    return rng.choice(("\n", "\n", ""))


# JSON between marks


def _objects(opening: str, closing: str, *, name: str = "name", arguments: str = "arguments") -> Write:
    """A pair of marks around each call."""

    def write(rng: random.Random, calls: Sequence[Call]) -> str:
        made: list[str] = []
        for call in calls:
            inner = object_of(rng, name, call, arguments)
            made.append(f"{opening}{_line(rng)}{inner}{_line(rng)}{closing}")
        return rng.choice(("\n", "\n", "")).join(made)

    return write


def _list(
    openings: Sequence[str],
    closing: str,
    *,
    name: str = "name",
    arguments: str = "arguments",
    call_id: str = "",
) -> Write:
    """One list of all calls."""

    def write(rng: random.Random, calls: Sequence[Call]) -> str:
        start, comma, end = rng.choice((("", ", ", ""), ("", ",", ""), ("\n    ", ",\n    ", "\n"), (" ", " , ", " ")))
        inner = comma.join(object_of(rng, name, call, arguments, call_id) for call in calls)
        return f"{rng.choice(openings)}[{start}{inner}{end}]{closing}"

    return write


def _llama3(rng: random.Random, calls: Sequence[Call]) -> str:
    members = rng.choice(("parameters", "parameters", "arguments"))
    made = [object_of(rng, "name", call, members, usual=True) for call in calls]
    return rng.choice(("<|python_tag|>", "")) + rng.choice(("; ", ";")).join(made)


def _mistral_v11(rng: random.Random, calls: Sequence[Call]) -> str:
    made: list[str] = []
    for call in calls:
        call_id = f"[CALL_ID]{call.call_id}" if call.call_id else ""
        made.append(f"[TOOL_CALLS]{call.name}{call_id}[ARGS]{json_of(rng, call.arguments)}")
    return "".join(made)


def _deepseek_v3(rng: random.Random, calls: Sequence[Call]) -> str:
    made = [
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{call.name}\n```json\n{json_of(rng, call.arguments)}\n```"
        "<｜tool▁call▁end｜>"
        for call in calls
    ]
    return f"<｜tool▁calls▁begin｜>{_line(rng).join(made)}<｜tool▁calls▁end｜>"


def _deepseek_v31(rng: random.Random, calls: Sequence[Call]) -> str:
    made = [
        f"<｜tool▁call▁begin｜>{call.name}<｜tool▁sep｜>{json_of(rng, call.arguments)}<｜tool▁call▁end｜>"
        for call in calls
    ]
    return f"<｜tool▁calls▁begin｜>{''.join(made)}<｜tool▁calls▁end｜>"


def _kimi_k2(rng: random.Random, calls: Sequence[Call]) -> str:
    space = rng.choice(("", "", " "))
    made = [
        f"<|tool_call_begin|>{space}{call.call_id}{space}<|tool_call_argument_begin|>{space}"
        f"{json_of(rng, call.arguments)}{space}<|tool_call_end|>"
        for call in calls
    ]
    return f"<|tool_calls_section_begin|>{_line(rng).join(made)}<|tool_calls_section_end|>"


def _harmony(rng: random.Random, calls: Sequence[Call]) -> str:
    made: list[str] = []
    for call in calls:
        header = rng.choice(
            (
                f"<|channel|>commentary to=functions.{call.name} <|constrain|>json",
                f" to=functions.{call.name}<|channel|>commentary json",
                f" to=functions.{call.name}<|channel|>commentary <|constrain|>json",
                f"<|channel|>commentary to=functions.{call.name}",
            )
        )
        made.append(f"<|start|>assistant{header}<|message|>{json_of(rng, call.arguments)}<|call|>")
    return "".join(made)


def _harmony_text(rng: random.Random, text: str) -> str:
    return f"<|start|>assistant<|channel|>{rng.choice(('final', 'commentary'))}<|message|>{text}<|end|>"


def _granite_20b(rng: random.Random, calls: Sequence[Call]) -> str:
    made = [f"<function_call>{_gap(rng)}{object_of(rng, 'name', call, 'arguments')}" for call in calls]
    return rng.choice((" ", "\n", "")).join(made)


def _minimax_m1(rng: random.Random, calls: Sequence[Call]) -> str:
    lines = "\n".join(object_of(rng, "name", call, "arguments") for call in calls)
    return f"<tool_calls>\n{lines}\n</tool_calls>"


def _hunyuan_text(rng: random.Random, text: str) -> str:
    return rng.choice((f"<answer>\n{text}\n</answer>", text))


def _ernie_text(rng: random.Random, text: str) -> str:
    return rng.choice((f"<response>\n{text}\n</response>\n", text))


def _xlam(rng: random.Random, calls: Sequence[Call]) -> str:
    listed = f"[{', '.join(object_of(rng, 'name', call, 'arguments', usual=True) for call in calls)}]"
    return rng.choice((listed, f"```json\n{listed}\n```", f"[TOOL_CALLS]{listed}", f"<tool_call>{listed}</tool_call>"))


def _intern_s1(rng: random.Random, calls: Sequence[Call]) -> str:
    opening = f"<|action_start|>{rng.choice((' ', ''))}<|plugin|>"
    return _objects(opening, "<|action_end|>", arguments="parameters")(rng, calls)


def _command_r(rng: random.Random, calls: Sequence[Call]) -> str:
    listed = _list(("",), "", name="tool_name", arguments="parameters")(rng, calls)
    return f"Action:{rng.choice((chr(10), ' '))}```json\n{listed}\n```"


def _apertus(rng: random.Random, calls: Sequence[Call]) -> str:
    inner = ", ".join(f'{{"{call.name}": {json_of(rng, call.arguments)}}}' for call in calls)
    return f"<|tools_prefix|>[{inner}]<|tools_suffix|>"


def _gigachat3(rng: random.Random, calls: Sequence[Call]) -> str:
    opening = rng.choice(("<|function_call|>", "<|message_sep|>\n\nfunction call<|role_sep|>\n"))
    return opening + object_of(rng, "name", calls[0], "arguments")


def _functionary(rng: random.Random, calls: Sequence[Call]) -> str:
    made = [f"<function={call.name}>{json_of(rng, call.arguments)}</function>" for call in calls]
    return _line(rng).join(made)


def _solar(rng: random.Random, calls: Sequence[Call]) -> str:
    made = [
        f"<|tool_call:begin|>{call.call_id}<|tool_call:name|>{call.name}<|tool_call:args|>"
        f"{json_of(rng, call.arguments)}<|tool_call:end|>"
        for call in calls
    ]
    return f"<|begin|>assistant<|tool_calls|>{''.join(made)}{rng.choice(('<|calls|>', ''))}"


def _inkling(rng: random.Random, calls: Sequence[Call]) -> str:
    made: list[str] = []
    for call in calls:
        header = rng.choice(("", call.name))
        made.append(
            f"<|message_model|>{header}<|content_invoke_tool_json|>{object_of(rng, 'name', call, 'args')}"
            "<|end_message|>"
        )
    return "".join(made)


def _plamo3(rng: random.Random, calls: Sequence[Call]) -> str:
    made = [
        f"<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>{call.name}<|plamo:end_tool_name:plamo|>"
        f"<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{json_of(rng, call.arguments)}"
        "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>"
        for call in calls
    ]
    return f"<|plamo:begin_tool_requests:plamo|>{''.join(made)}<|plamo:end_tool_requests:plamo|>"


# Tags around each argument


def _qwen3_coder(opening: str, closing: str) -> Write:
    """A value's closing tag may be missing where what follows it shows its end."""

    def write(rng: random.Random, calls: Sequence[Call]) -> str:
        made: list[str] = []
        for call in calls:
            wrapped = rng.random() < 0.9
            values: list[str] = []
            for key, value in call.arguments.items():
                raw = raw_of(rng, value)
                if wrapped and rng.random() < 0.1:
                    values.append(f"<parameter={key}>\n{raw}\n")
                    continue
                bare = rng.random() < 0.3 and raw[:1] not in ("\n", "\r") and raw[-1:] not in ("\n", "\r")
                inner = raw if bare else f"\n{raw}\n"
                values.append(f"<parameter={key}>{inner}</parameter>\n")
            inner = f"<function={call.name}>\n{''.join(values)}</function>"
            made.append(f"{opening}\n{inner}\n{closing}" if wrapped else inner)
        return "\n".join(made)

    return write


def _quoted(rng: random.Random, key: str) -> str:
    """A name in a tag, with its quotes or without them."""
    return key if rng.random() < 0.1 and key.isidentifier() else f'"{key}"'


def _invokes(opening: str, closing: str, tag: str = "", *, bare: bool = False) -> Write:
    """`invoke` and `parameter` elements in one wrapper."""

    def name_of(rng: random.Random, key: str) -> str:
        return _quoted(rng, key) if bare else f'"{key}"'

    def write(rng: random.Random, calls: Sequence[Call]) -> str:
        line = rng.choice(("\n", "\n", "\n", ""))
        made: list[str] = []
        for call in calls:
            values = [
                f"<{tag}parameter name={name_of(rng, key)}>{raw_of(rng, value)}</{tag}parameter>{line}"
                for key, value in call.arguments.items()
            ]
            made.append(f"<{tag}invoke name={name_of(rng, call.name)}>{line}{''.join(values)}</{tag}invoke>{line}")
        return f"{opening}{line}{''.join(made)}{closing}"

    return write


def _dots(rng: random.Random, calls: Sequence[Call]) -> str:
    opening, closing = "<dots_function_call>", "</dots_function_call>"
    if rng.random() < 0.2:
        return "\n".join(f"{opening}\n{object_of(rng, 'name', call, 'arguments')}\n{closing}" for call in calls)
    return _invokes(opening, closing)(rng, calls)


def _dsml(*wrappers: tuple[str, str]) -> Write:
    """Typed: `string` says what a value is."""

    def write(rng: random.Random, calls: Sequence[Call]) -> str:
        wrapper, space = rng.choice(wrappers)
        made: list[str] = []
        for call in calls:
            values = [
                f'<｜DSML｜{space}parameter name="{key}" string="{str(isinstance(value, str)).lower()}">'
                f"{raw_of(rng, value)}</｜DSML｜{space}parameter>\n"
                for key, value in call.arguments.items()
            ]
            made.append(f'<｜DSML｜{space}invoke name="{call.name}">\n{"".join(values)}</｜DSML｜{space}invoke>\n')
        return f"\n\n<｜DSML｜{space}{wrapper}>\n{''.join(made)}</｜DSML｜{space}{wrapper}>"

    return write


def _glm(rng: random.Random, calls: Sequence[Call]) -> str:
    line = rng.choice(("\n", ""))
    made: list[str] = []
    for call in calls:
        values = [
            f"<arg_key>{key}</arg_key>{line}<arg_value>{raw_of(rng, value)}</arg_value>{line}"
            for key, value in call.arguments.items()
        ]
        made.append(f"<tool_call>{call.name}{line}{''.join(values)}</tool_call>")
    return rng.choice(("\n", "")).join(made)


def _hy_v3(rng: random.Random, calls: Sequence[Call]) -> str:
    suffix = rng.choice(("", ":opensource"))
    made: list[str] = []
    for call in calls:
        values = [
            f"<arg_key{suffix}>{key}</arg_key{suffix}>\n<arg_value{suffix}>{raw_of(rng, value)}</arg_value{suffix}>\n"
            for key, value in call.arguments.items()
        ]
        made.append(f"<tool_call{suffix}>{call.name}<tool_sep{suffix}>\n{''.join(values)}</tool_call{suffix}>\n")
    return f"<tool_calls{suffix}>\n{''.join(made)}</tool_calls{suffix}>"


NS = "]<]minimax[>["


def _minimax_m3(rng: random.Random, calls: Sequence[Call]) -> str:
    made: list[str] = []
    for call in calls:
        values = [_element(rng, key, value) for key, value in call.arguments.items()]
        made.append(f'{NS}<invoke name="{call.name}">\n{"".join(values)}{NS}</invoke>\n')
    return f"{NS}<tool_call>\n{''.join(made)}{NS}</tool_call>"


def _element(rng: random.Random, key: str, value: object) -> str:
    if isinstance(value, list):
        inner = "".join(_element(rng, "item", item) for item in value)
    elif isinstance(value, dict):
        inner = "".join(_element(rng, name, item) for name, item in value.items())
    else:
        inner = raw_of(rng, value)
    return f"{NS}<{key}>{inner}{NS}</{key}>{_line(rng)}"


def _step3(rng: random.Random, calls: Sequence[Call]) -> str:
    line = _line(rng)
    made: list[str] = []
    for call in calls:
        values = [
            f'<steptml:parameter name="{key}">{raw_of(rng, value)}</steptml:parameter>{line}'
            for key, value in call.arguments.items()
        ]
        made.append(
            f'<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="{call.name}">{line}{"".join(values)}'
            f"</steptml:invoke><｜tool_call_end｜>{line}"
        )
    return f"<｜tool_calls_begin｜>{line}{''.join(made)}<｜tool_calls_end｜>"


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "boolean"), ((int, float), "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def _kimi_k3(rng: random.Random, calls: Sequence[Call]) -> str:
    made: list[str] = []
    for call in calls:
        if rng.random() < 0.1:
            inner = f'<|open|>json type="object"<|sep|>{json_of(rng, call.arguments)}<|close|>json<|sep|>'
        else:
            inner = "".join(
                f'<|open|>argument key="{_attribute(key)}" type="{_kind(value)}"<|sep|>{raw_of(rng, value)}'
                "<|close|>argument<|sep|>"
                for key, value in call.arguments.items()
            )
        made.append(
            f'<|open|>call tool="{_attribute(call.name)}" index="{call.call_id}"<|sep|>{inner}<|close|>call<|sep|>'
        )
    return f"<|open|>tools<|sep|>{''.join(made)}<|close|>tools<|sep|>"


def _muse(rng: random.Random, calls: Sequence[Call]) -> str:
    opening, closing = "<atem:function_calls>", "</atem:function_calls>"
    made = [
        f"<|start|>assistant to={call.name}<|message|>{_invokes(opening, closing, 'atem:')(rng, [call])}<|eom|>"
        for call in calls
    ]
    return "".join(made)


def _minicpm5(rng: random.Random, calls: Sequence[Call]) -> str:
    line = _line(rng)
    made: list[str] = []
    for call in calls:
        values: list[str] = []
        for key, value in call.arguments.items():
            raw = raw_of(rng, value)
            marked = isinstance(value, str) and (any(mark in value for mark in "<&") or rng.random() < 0.2)
            inner = f"<![CDATA[{raw}]]>" if marked else raw
            values.append(f'<param name="{key}">{inner}</param>{line}')
        made.append(f'<function name="{call.name}">{line}{"".join(values)}</function>')
    return _line(rng).join(made)


def _k2_horizon(rng: random.Random, calls: Sequence[Call]) -> str:
    shape = rng.choice(("json", "xml", "xml", "typed"))
    line = _line(rng)
    made: list[str] = []
    for call in calls:
        if shape == "json":
            inner = object_of(rng, "name", call, "arguments")
        else:
            inner = call.name + line
            for key, value in call.arguments.items():
                kind = f"<ifm|arg_type>{_kind(value)}</ifm|arg_type>{line}" if shape == "typed" else ""
                inner += f"<ifm|arg_key>{key}</ifm|arg_key>{line}{kind}<ifm|arg_value>{raw_of(rng, value)}"
                inner += f"</ifm|arg_value>{line}"
        made.append(f"<ifm|tool_call>{inner}</ifm|tool_call>{line}")
    return f"<ifm|tool_calls>{line}{''.join(made)}</ifm|tool_calls>"


# Call expressions


def _pythonic(rng: random.Random, calls: Sequence[Call]) -> str:
    listed = f"[{rng.choice((', ', ',')).join(expression_of(rng, call) for call in calls)}]"
    return rng.choice((listed, f"<|python_start|>{listed}<|python_end|>"))


def _gemma3(rng: random.Random, calls: Sequence[Call]) -> str:
    return f"[{', '.join(expression_of(rng, call) for call in calls)}]"


def _olmo3(rng: random.Random, calls: Sequence[Call]) -> str:
    lines = "\n".join(expression_of(rng, call) for call in calls)
    return f"<function_calls>{_line(rng)}{lines}{_line(rng)}</function_calls>"


def _lfm2(rng: random.Random, calls: Sequence[Call]) -> str:
    if rng.random() < 0.2:
        return _list(("<|tool_call_start|>",), "<|tool_call_end|>")(rng, calls)
    listed = f"[{', '.join(expression_of(rng, call) for call in calls)}]"
    return f"<|tool_call_start|>{listed}<|tool_call_end|>"


def _gemma(opening: str, closing: str, quote: str) -> Write:
    def write(rng: random.Random, calls: Sequence[Call]) -> str:
        made = [f"{opening}call:{call.name}{gemma_of(call.arguments, quote)}{closing}" for call in calls]
        return "".join(made)

    return write


_ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def _nine(rng: random.Random, _: str, __: int) -> str:
    return "".join(rng.choice(_ALPHANUMERIC) for _ in range(9))


def _nine_or_none(rng: random.Random, name: str, number: int) -> str:
    return rng.choice((_nine(rng, name, number), ""))


def _counted(_: random.Random, __: str, number: int) -> str:
    return str(number)


def _counted_from_one(_: random.Random, __: str, number: int) -> str:
    return str(number + 1)


def _kimi_id(_: random.Random, name: str, number: int) -> str:
    return f"functions.{name}:{number}"


def _key(key: str) -> bool:
    """Between tags, or after `=` in one."""
    return bool(key) and not any(mark in key for mark in "<>\n")


def _plain_tool(call: Call) -> bool:
    return "." not in call.name


def _both(*rules: Sayable) -> Sayable:
    return lambda call: all(rule(call) for rule in rules)


def _around(opening: str, closing: str) -> Wrap:
    return lambda _, text: f"{opening}{text}{closing}"


THINK = ("<think>", "</think>")
ATTRIBUTES = attributes_sayable

FAMILIES: dict[str, Family] = {
    "hermes": Family(_objects("<tool_call>", "</tool_call>"), think=THINK),
    "longcat": Family(_objects("<longcat_tool_call>", "</longcat_tool_call>")),
    "ernie45": Family(_objects("<tool_call>", "</tool_call>"), think=THINK, text=_ernie_text),
    "llama3-json": Family(_llama3, before=False, after=False),
    "mistral-v3": Family(_list(("[TOOL_CALLS]", "[TOOL_CALLS] "), "", call_id="id"), ids=_nine, after=False),
    "mistral-v11": Family(_mistral_v11, think=("[THINK]", "[/THINK]"), ids=_nine_or_none, after=False),
    "deepseek-v3": Family(_deepseek_v3, think=THINK),
    "deepseek-v31": Family(_deepseek_v31, think=THINK),
    "kimi-k2": Family(_kimi_k2, think=THINK, ids=_kimi_id),
    "harmony": Family(
        _harmony, think=("<|channel|>analysis<|message|>", "<|end|>"), text=_harmony_text, begins="<|start|>assistant"
    ),
    "granite": Family(_list(("<|tool_call|>", "<tool_call>"), "")),
    "granite4": Family(_objects("<tool_call>", "</tool_call>")),
    "granite-20b-fc": Family(_granite_20b),
    "phi4-mini": Family(_list(("functools",), "")),
    "jamba": Family(_list(("<tool_calls>", "<tool_calls>\n"), "</tool_calls>")),
    "hunyuan-a13b": Family(
        _list(("<tool_calls>",), "</tool_calls>"), think=("<think>\n", "\n</think>\n"), text=_hunyuan_text
    ),
    "apriel": Family(_list(("<tool_calls>",), "</tool_calls>"), think=("<thinking>", "</thinking>")),
    "minimax-m1": Family(_minimax_m1, think=THINK),
    "nemotron": Family(_list(("<TOOLCALL>",), "</TOOLCALL>"), think=THINK),
    "xlam": Family(_xlam, think=THINK, before=False, after=False),
    "internlm2": Family(_objects("<|action_start|><|plugin|>", "<|action_end|>", arguments="parameters"), most=1),
    "interns1": Family(_intern_s1, think=THINK),
    "cohere3": Family(
        _list(
            ("<|START_ACTION|>",), "<|END_ACTION|>", name="tool_name", arguments="parameters", call_id="tool_call_id"
        ),
        think=("<|START_THINKING|>", "<|END_THINKING|>"),
        text=_around("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        ids=_counted,
    ),
    "cohere4": Family(
        _list(
            ("<|START_ACTION|>",), "<|END_ACTION|>", name="tool_name", arguments="parameters", call_id="tool_call_id"
        ),
        think=("<|START_THINKING|>", "<|END_THINKING|>"),
        text=_around("<|START_TEXT|>", "<|END_TEXT|>"),
        ids=_counted,
    ),
    "command-r": Family(_command_r),
    "apertus": Family(_apertus, think=("<|inner_prefix|>", "<|inner_suffix|>")),
    "gigachat3": Family(_gigachat3, most=1, after=False),
    "functionary": Family(_functionary),
    "solar": Family(
        _solar,
        think=("<|think|>", "<|end|>"),
        text=_around("<|begin|>assistant<|content|>", "<|end|>"),
        ids=_nine,
        begins="<|begin|>assistant",
    ),
    "inkling": Family(
        _inkling,
        think=("<|message_model|><|content_thinking|>", "<|end_message|>"),
        text=_around("<|message_model|><|content_text|>", "<|end_message|>"),
        begins="<|message_model|>",
    ),
    "plamo3": Family(_plamo3, think=("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>")),
    "qwen3-coder": Family(
        _qwen3_coder("<tool_call>", "</tool_call>"),
        raw_sayable("</parameter>", "\n<parameter=", "\n</function>\n</tool_call>", keys=_key, edges="\r"),
        think=THINK,
    ),
    "seed-oss": Family(
        _qwen3_coder("<seed:tool_call>", "</seed:tool_call>"),
        raw_sayable("</parameter>", "\n<parameter=", "\n</function>\n</seed:tool_call>", keys=_key, edges="\r"),
        think=("<seed:think>", "</seed:think>"),
    ),
    "deepseek-v32": Family(_dsml(("function_calls", "")), typed_sayable("</｜DSML｜parameter>"), think=THINK),
    "deepseek-v4": Family(
        _dsml(("tool_calls", ""), ("calls", " ")),
        typed_sayable("</｜DSML｜parameter>", "</｜DSML｜ parameter>"),
        think=THINK,
    ),
    "glm45": Family(_glm, raw_sayable("</arg_value>", keys=_key), think=THINK),
    "glm47": Family(_glm, raw_sayable("</arg_value>", keys=_key), think=THINK),
    "poolside-v1": Family(_glm, raw_sayable("</arg_value>", keys=_key), think=THINK),
    "hy-v3": Family(_hy_v3, raw_sayable("</arg_value>", "</arg_value:opensource>", keys=_key), think=THINK),
    "minimax-m2": Family(
        _invokes("<minimax:tool_call>", "</minimax:tool_call>", bare=True), raw_sayable("</parameter>"), think=THINK
    ),
    "minimax-m3": Family(_minimax_m3, nested_sayable(NS), think=("<mm:think>", "</mm:think>")),
    "step3": Family(_step3, raw_sayable("</steptml:parameter>"), think=THINK),
    "kimi-k3": Family(
        _kimi_k3,
        typed_sayable("<|close|>", keys=lambda key: bool(key) and "\n" not in key),
        think=("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
        text=_around("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
        ids=_counted_from_one,
    ),
    "muse-glimmer": Family(
        _muse,
        _both(raw_sayable("</atem:parameter>"), _plain_tool),
        think=("<|start|>assistant to=self<|message|>", "<|eom|>"),
        text=_around("<|start|>assistant to=user<|message|>", "<|eom|>"),
        begins="<|start|>assistant",
    ),
    "dots": Family(_dots, raw_sayable("</parameter>"), think=THINK),
    "minicpm5": Family(_minicpm5, raw_sayable("]]>"), think=THINK),
    "k2-horizon": Family(_k2_horizon, raw_sayable("</ifm|arg_value>", keys=_key)),
    "pythonic": Family(_pythonic, expression_sayable, before=False, after=False),
    "gemma3": Family(_gemma3, expression_sayable, before=False, after=False),
    "olmo3": Family(_olmo3, expression_sayable, think=THINK),
    "lfm2": Family(_lfm2, expression_sayable, think=THINK),
    "functiongemma": Family(
        _gemma("<start_function_call>", "<end_function_call>", "<escape>"),
        _both(gemma_sayable("<escape>"), raw_sayable("<escape>")),
    ),
    "gemma4": Family(
        _gemma("<|tool_call>", "<tool_call|>", '<|"|>'),
        gemma_sayable('<|"|>'),
        think=("<|channel>thought\n", "<channel|>"),
    ),
}
"""Every family that was trained on a syntax of its own."""

MARKS: tuple[str, ...] = (
    *("<tool_call>", "</tool_call>", '<tool_call>\n{"name": "', "<longcat_tool_call>", "<response>", "</response>"),
    *("<|python_tag|>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]", "[/INST]", "</s>"),
    *(
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "<｜tool▁call▁end｜>",
        "<｜tool▁calls▁end｜>",
    ),
    *("<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"),
    *("<|channel|>", "<|message|>", "<|call|>", "<|end|>", "<|start|>assistant", "<|constrain|>json", "<|tool_call|>"),
    *("<function_call>", "functools[", "<tool_calls>", "</tool_calls>", "<TOOLCALL>", "</TOOLCALL>", "<answer>"),
    *("<|action_start|>", "<|plugin|>", "<|action_end|>", "<|START_ACTION|>", "<|END_ACTION|>", "<|START_RESPONSE|>"),
    *("Action:\n```json\n", "<|tools_prefix|>", "<|tools_suffix|>", "<|function_call|>", "<|message_sep|>", ">>>all\n"),
    *("<function=search>", "</function>", "<|tool_call:begin|>", "<|tool_call:end|>", "<|content_invoke_tool_json|>"),
    *("<|end_message|>", "<|message_model|>", "<|plamo:begin_tool_request:plamo|>", "<|plamo:msg|>", "<parameter=x>"),
    *("</parameter>", "<seed:tool_call>", "</seed:tool_call>", "<｜DSML｜invoke name=", "</｜DSML｜parameter>"),
    *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<tool_sep>", "<minimax:tool_call>", "<invoke name="),
    *("</invoke>", NS, "<｜tool_call_begin｜>", "<steptml:invoke", "</steptml:parameter>", "<|open|>", "<|sep|>"),
    *(
        "<|close|>",
        "<atem:invoke",
        "</atem:parameter>",
        "<|eom|>",
        "<dots_function_call>",
        "<function name=",
        "</param>",
    ),
    *("<ifm|tool_call>", "</ifm|arg_value>", "[search(", "<|python_start|>", "<function_calls>", "<|tool_call_start|>"),
    *(
        "<|tool_call_end|>",
        "<start_function_call>",
        "<escape>",
        "<|tool_call>",
        "<tool_call|>",
        '<|"|>',
        "call:search{",
    ),
    *("<think>", "</think>", "<seed:think>", "<mm:think>", "<|channel>thought\n", "<channel|>", "<|im_end|>"),
)
"""What means something to one family or another."""
