"""Random answers of every family, and whether they were read back exactly: calls, ids, text and reasoning.

Seeded, so that a fault has a name: `family_round_trips("glm47", seed=7, count=1000)` is the same thousand every time.
"""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

from embedded.family_values import Call
from embedded.family_writers import FAMILIES
from embedded.random_calls import PROSE, TOOL_NAMES, random_tool, random_value
from embedded.text_feeding import Reading, random_pieces, read_text
from toolwire import ToolDefinition
from toolwire.tools.registry import ToolRegistry

TRIES = 400
"""Tools and arguments that are made up until a family has a way to say one: a few in a hundred are enough."""


class FamilyAnswer(NamedTuple):
    """A text, and what must come of it."""

    text: str
    tools: ToolRegistry
    calls: list[Call]
    said: str
    reasoning: str
    opened: bool
    """The prompt opened the reasoning."""


class FamilyAnswers:
    """Random answers of one family. A set of tools serves for `each` answers, since making one is dear."""

    def __init__(self, name: str, seed: int, each: int = 12) -> None:
        self._family = FAMILIES[name]
        self._rng = random.Random(f"{name} {seed}")
        self._each = each
        self._made = 0
        self._tools: list[ToolDefinition] = []
        self._registry = ToolRegistry()

    def next(self) -> FamilyAnswer:
        """The next one."""
        family, rng = self._family, self._rng
        if self._made % self._each == 0:
            self._tools = self._some_tools()
            self._registry = ToolRegistry(self._tools)
        self._made += 1
        pieces: list[str] = []
        calls: list[Call] = []
        said: list[str] = []
        reasoning, opened = "", False
        if family.think is not None and rng.random() < 0.4:
            reasoning = _words(rng) or "Hm."
            opened = rng.random() < 0.3
            pieces += ["" if opened else family.think[0], reasoning, family.think[1], rng.choice(("", "\n", "\n\n"))]
        if family.before:
            pieces.append(self._say(_words(rng), said))
        for _ in range(2 if family.after and rng.random() < 0.2 else 1):
            group = [self._call(len(calls) + number) for number in range(rng.choice((1, 1, 1, 2, 3)))][: family.most]
            calls += group
            pieces.append(family.write(rng, group))
            if family.after:
                pieces += [rng.choice(("\n", "", " ", "\n\n")), self._say(_words(rng), said)]
        text = "".join(pieces)
        if family.begins and not opened and rng.random() < 0.7:
            text = text.removeprefix(family.begins)
        return FamilyAnswer(text, self._registry, calls, "".join(said), reasoning, opened)

    def pieces(self, text: str) -> list[str]:
        """It, cut at random."""
        return list(random_pieces(text, self._rng, self._rng.choice((1, 4, 30, 5000))))

    def _say(self, text: str, said: list[str]) -> str:
        said.append(text)
        return self._family.text(self._rng, text) if self._family.text is not None and text else text

    def _some_tools(self) -> list[ToolDefinition]:
        """Three that this family can call."""
        found: dict[str, ToolDefinition] = {}
        for _ in range(TRIES):
            name = self._rng.choice(TOOL_NAMES)
            tool = random_tool(self._rng, name)
            if name not in found and self._arguments(tool) is not None:
                found[name] = tool
                if len(found) == 3:
                    break
        return list(found.values())

    def _call(self, number: int) -> Call:
        rng, ids = self._rng, self._family.ids
        for _ in range(TRIES):
            tool = rng.choice(self._tools)
            arguments = self._arguments(tool)
            if arguments is not None:
                return Call(tool, arguments, ids(rng, tool.name, number) if ids is not None else "")
        raise AssertionError("no call of these tools can be said")

    def _arguments(self, tool: ToolDefinition) -> dict[str, Any] | None:
        """Arguments that fit the tool and that the family has a way to say: as many as it can."""
        sayable = self._family.sayable
        defs = tool.parameters.get("$defs", {})
        arguments: dict[str, Any] = random_value(self._rng, tool.parameters, defs)
        for key in [None, *arguments]:
            if key is not None:
                if key in tool.parameters.get("required", ()):
                    continue
                arguments = {other: value for other, value in arguments.items() if other != key}
            if sayable(Call(tool, arguments)):
                return arguments
        return None


def _words(rng: random.Random) -> str:
    return "".join(rng.choice(PROSE) for _ in range(rng.randint(0, 2)))


def read_answer(name: str, answer: FamilyAnswer, pieces: list[str]) -> Reading:
    """It, as it comes in these pieces."""
    return read_text(name, pieces, answer.tools, reasoning=answer.opened)


def fault_in(answer: FamilyAnswer, reading: Reading) -> str:
    """What is wrong with a reading; empty when all came back exactly, space between the parts aside."""
    if reading.rebuilt != answer.text:
        return "the text was not rebuilt"
    # As JSON: to Python, 1, 1.0 and true are equal. The order of members means nothing.
    wanted = [(call.name, call.arguments) for call in answer.calls]
    if json.dumps(reading.calls, sort_keys=True) != json.dumps(wanted, sort_keys=True):
        return f"read {reading.outcome}"
    if reading.ids != [call.call_id for call in answer.calls]:
        return f"read the ids {reading.ids}"
    for kind, told in (("text", answer.said), ("reasoning", answer.reasoning)):
        read = "".join(part[1] for part in reading.outcome if part[0] == kind)
        if "".join(read.split()) != "".join(told.split()):
            return f"read as {kind}: {read!r}, and not {told!r}, in {reading.outcome}"
    return ""


def family_round_trips(name: str, seed: int, count: int) -> list[str]:
    """The faults among `count` answers: each with what is needed to see it again."""
    answers = FamilyAnswers(name, seed)
    faults: list[str] = []
    for number in range(count):
        answer = answers.next()
        fault = fault_in(answer, read_answer(name, answer, answers.pieces(answer.text)))
        if fault:
            schemas = json.dumps({call.name: call.tool.parameters for call in answer.calls}, ensure_ascii=False)
            wanted = [(call.name, call.arguments, call.call_id) for call in answer.calls]
            faults.append(f"{name} {seed}/{number}: {answer.text!r} of {wanted} for {schemas}: {fault}")
    return faults
