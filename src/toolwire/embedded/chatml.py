"""The prompts of ChatML, as Qwen, Hermes and many others were trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..tools.definition import ToolDefinition
from .format import Chat

CHATML_MARKS = ("<|im_start|>", "<|im_end|>")


def chatml(tools: Callable[[Sequence[ToolDefinition]], str]) -> Chat:
    """The layout as Qwen has it, with these words about the tools; other families change what they have otherwise."""
    return Chat(
        system=("<|im_start|>system\n", "<|im_end|>\n"),
        user=("<|im_start|>user\n", "<|im_end|>\n"),
        assistant=("<|im_start|>assistant\n", "<|im_end|>\n"),
        results=("<|im_start|>user\n", "<|im_end|>\n"),
        between_results="\n",
        answer="<|im_start|>assistant\n",
        tools=tools,
        default_system="You are a helpful assistant.",
        reasoning="<think>\n",
        no_reasoning="<think>\n\n</think>\n\n",
        stop=("<|im_end|>", "<|endoftext|>"),
        before_calls="\n",
        thought=("<think>\n", "\n</think>\n\n"),
    )
