"""`hunyuan-a13b` and `apriel`: a JSON list between tags, after reasoning that is marked in its own way.

    <think>
    …
    </think>
    <answer>
    <tool_calls>[{"name": "search", "arguments": {"query": "x"}}]</tool_calls>
    </answer>

Hunyuan may put its words and calls between `<answer>` tags. Apriel begins its reasoning with `Here are my reasoning
steps:`, or its prompt does, and ends it with `[BEGIN FINAL RESPONSE]`; it also knows `<thinking>` tags, and ids.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..json_calls import Members
from ..json_source import json_text
from ..listed import lists, write_list
from ..prose import THINK, Thinking, marked
from ..scanner import PieceKind, Scanner, Wait
from ..wrapped import wrappers

OPEN, CLOSE = "<tool_calls>", "</tool_calls>"
ANSWER = {"<answer>": "</answer>"}


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer of Hunyuan."""
    return marked(scanner, lists(scanner, tools, OPEN, CLOSE) | wrappers(scanner, ANSWER), THINK)


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """A list between tags."""
    return f"{OPEN}{write_list(calls)}{CLOSE}"


def write_result(_: ToolResultPart, content: str) -> str:
    """A result between tags."""
    return f"<tool_response>{content}</tool_response>"


_FORM = f'{OPEN}[{{"name": "func_name1", "arguments": {{"argument1": "value1", "argument2": "value2"}}}},...]{CLOSE}'


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the models' own chat template, without the time of day."""
    told = ", ".join(map(declare, tools))
    return (
        "你是一位函数组合专家。你会得到一个问题和一组可能的函数。根据问题，你需要进行一个或多个函数/工具调用以实现目的。\n"
        "如果没有一个函数可以使用，请直接使用自然语言回复用户，以助手：开头。\n"
        "如果给定的问题缺少函数所需的参数，请使用自然语言进行提问，向用户询问必要信息，以助手：开头。\n"
        "如果调用结果已经足够回答用户问题，请对历史结果进行总结，使用自然语言回复用户，以助手：开头。\n"
        "你应该只在工具调用部分返回函数调用。如果你决定调用任何函数，你必须将其格式化为"
        f"{_FORM}。你不应该在回复中包含任何其他文本。以下是你可以调用的函数列表，格式为JSON。\n"
        f"\n[{told}]\n"
        f"\n如果你决定返回函数调用，请将其格式化为{_FORM}，不得包含其他文本。如果额外要求里有格式要求，请忽略，以此处为准。\n"
        "否则，请参考开头说的三种情况，以助手：开头进行回复。\n"
        "\n额外要求："
    )


HUNYUAN_A13B: Format = family(
    "hunyuan-a13b",
    "a JSON list in <tool_calls> tags, words in <answer> tags",
    models=("Hunyuan-A13B",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(
        *(OPEN, CLOSE, "<tool_response>", "</tool_response>", "<answer>", "</answer>", "<think>", "</think>"),
        *("<|startoftext|>", "<|extra_0|>", "<|extra_4|>", "<|eos|>"),
    ),
    thinking=THINK,
    chat=Chat(
        system=("", "<|extra_4|>"),
        user=("用户：", "<|extra_0|>"),
        assistant=("", "<|eos|>"),
        results=("", "<|extra_0|>"),
        between_results="<|extra_0|>",
        answer="",
        tools=tell_tools,
        begin="<|startoftext|>",
        tools_at="system_first",
        default_system="You are a helpful assistant.",
        no_reasoning="<think>\n\n</think>\n",
        stop=("<|eos|>",),
    ),
)


# Apriel

FINAL, FINAL_END = "[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]"
STEPS = "Here are my reasoning steps:"
APRIEL_THINKING = Thinking(((STEPS, FINAL), ("<thinking>", "</thinking>")))
APRIEL_MEMBERS = Members(call_id=("id",))


def read_apriel(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer of Apriel."""

    def end() -> Wait[bool]:
        # Only the very end of an answer is its end.
        yield from scanner.read_space()
        if scanner.plain is PieceKind.REASONING or (yield from scanner.need(1)):
            return False
        scanner.give_mark()
        return True

    openers = lists(scanner, tools, OPEN, CLOSE, APRIEL_MEMBERS)
    return marked(scanner, {**openers, FINAL_END: end}, APRIEL_THINKING)


def write_apriel(calls: Sequence[CallToWrite]) -> str:
    """A list between tags, ids last."""
    made = [
        {"name": call.name, "arguments": call.arguments} | ({"id": call.call_id} if call.call_id else {})
        for call in calls
    ]
    return f"{OPEN}{json_text(made)}{CLOSE}"


def write_apriel_result(_: ToolResultPart, content: str) -> str:
    """A result is a turn of its own and has nothing else around it."""
    return content


def tell_apriel(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the models' own chat template."""
    told = "".join(f"{declare(tool)}\n" for tool in tools)
    return (
        "\nYou are provided with function signatures within <available_tools></available_tools> XML tags. You may call "
        "one or more functions to assist with the user query. Don't make assumptions about the arguments. You should "
        "infer the argument values from previous user responses and the system message. Here are the available tools:\n"
        f"<available_tools>\n{told}</available_tools>\n"
        "Return all function calls as a list of json objects within <tool_call></tool_call> XML tags. Each json object "
        "should contain a function name and arguments as follows:\n"
        f'{OPEN}[{{"name": <function-name-1>, "arguments": <args-dict-1>}}, '
        f'{{"name": <function-name-2>, "arguments": <args-dict-2>}},...]{CLOSE}'
    )


APRIEL: Format = family(
    "apriel",
    "a JSON list in <tool_calls> tags after [BEGIN FINAL RESPONSE]",
    models=("Apriel 1.5 and 1.6",),
    read=read_apriel,
    write_calls=write_apriel,
    write_result=write_apriel_result,
    marks=(
        *(OPEN, CLOSE, FINAL, FINAL_END, "<thinking>", "</thinking>", "<available_tools>", "</available_tools>"),
        *("<|system|>", "<|user|>", "<|assistant|>", "<|tool_result|>", "<|content|>", "<|end|>"),
    ),
    thinking=APRIEL_THINKING,
    chat=Chat(
        system=(
            "<|system|>\nYou are a thoughtful and systematic AI assistant built by ServiceNow Language Models (SLAM) "
            "lab. Before providing an answer, analyze the problem carefully and present your reasoning step by step. "
            "After explaining your thought process, provide the final solution in the following format: "
            f"{FINAL} ... {FINAL_END}.",
            "\n<|end|>\n",
        ),
        user=("<|user|>\n", "\n<|end|>\n"),
        assistant=("<|assistant|>\n", "\n<|end|>\n"),
        results=("<|tool_result|>\n", "\n<|end|>\n"),
        between_results="\n<|end|>\n<|tool_result|>\n",
        answer="<|assistant|>\n",
        tools=tell_apriel,
        begin="<s>",
        reasoning=f"{STEPS}\n",
        stop=("<|end|>",),
        before_calls="\n",
        calls_apart=True,
    ),
)
