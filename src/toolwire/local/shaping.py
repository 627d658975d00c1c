"""Turn an ordinary OpenAI Chat request into the one that gets the best out of a very small model.

Pure: a body in, a body out. Three cases, by the last message:

- a question that fits a tool (`fitting`): that tool alone, examples of its calls as earlier turns, its arguments
  bounded by the question (`narrowing`), the answer begun with `<tool_call>`, so that a call must come;
- results of tools: no tools, the question and the results as plain text, and a grammar for the answer that holds one
  sentence to quote the result, because a model of this size miscopies numbers;
- anything else: no tools, a plain answer.

`tool_choice` is respected: "none" never calls, "required" and a named function always do.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .examples import examples
from .fitting import fitting_tools
from .narrowing import narrow
from .question import STOP_WORDS, Question

SYSTEM = "You are a very small language model. You answer in one or two short sentences."
CALL_TOKENS = 200
ANSWER_TOKENS = 160
PLAIN_TOKENS = 200
HISTORY_MESSAGES = 8
HISTORY_CHARACTERS = 4000
QUOTE_CHARACTERS = 240

_ANSWERS = (
    ("How tall is the Eiffel Tower?", "330 m", "The Eiffel Tower is 330 m tall."),
    ("What animals are on the farm?", "cow, pig, hen", "The animals on the farm are: cow, pig, hen."),
    ("Open song.txt", "Once upon a time", "song.txt says: Once upon a time."),
    ("Who wrote it?", "Error: no such file", "That did not work: Error: no such file."),
)
_TALK = (
    ("Hello!", "Hello! What can I do for you?"),
    ("Thank you!", "You are welcome."),
    ("What is the capital of Italy?", "The capital of Italy is Rome."),
    ("Tell me a fact.", "Honey never spoils."),
)
_ABOUT_ITSELF = frozenset(
    "name called model tool tools help able ai bot chatbot chatgpt human robot real version made makes work "
    "introduce yourself exactly kind language llm smollm smollm2".split()
)
_NOT_IN_SUBJECT = frozenset(
    "what what's whats how many much which who when where why is are was were do does did can could would will it i me my "
    "you your please tell show give list read open print display find convert calculate compute get now".split()
)
_VERBS = (" is ", " is equal to ", " are: ", " says: ")


def shape_request(body: dict[str, Any]) -> dict[str, Any]:
    """The body to send instead of `body`. Keys that are not about messages, tools or sampling pass unchanged."""
    messages = [message for message in body.get("messages") or [] if isinstance(message, dict)]
    tools = _functions(body.get("tools"))
    choice = body.get("tool_choice", "auto")
    question = Question(_last_user_text(messages))
    answering = bool(messages) and messages[-1].get("role") == "tool"
    rest = {
        key: value
        for key, value in body.items()
        if key not in {"messages", "tools", "tool_choice", "parallel_tool_calls", "max_completion_tokens"}
    }

    chosen: list[dict[str, Any]] = []
    if isinstance(choice, dict):
        named = (choice.get("function") or {}).get("name")
        chosen = [tool for tool in tools if tool.get("name") == named]
    elif choice in {"required", "any"}:
        chosen = fitting_tools(question, tools, at_least=0)
    elif choice != "none" and not answering:
        chosen = fitting_tools(question, tools)

    if chosen:
        return rest | _call(question, chosen)
    if answering:
        return rest | _answer(messages, question, _limit(body, ANSWER_TOKENS))
    return rest | _plain(messages, tools, question, _limit(body, PLAIN_TOKENS))


def _call(question: Question, chosen: list[dict[str, Any]]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    tools: list[dict[str, Any]] = []
    for tool in chosen:
        schema = narrow(tool.get("parameters"), question)
        tools.append({"type": "function", "function": {**tool, "parameters": schema}})
        for asked, arguments in examples(tool, list(schema["properties"])):
            call = {"name": tool["name"], "arguments": msgspec.json.encode(arguments).decode()}
            messages += [
                {"role": "user", "content": asked},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": f"call_{len(messages)}", "type": "function", "function": call}],
                },
            ]
    messages += [
        {"role": "user", "content": _clean(question.text)},
        {"role": "assistant", "content": "<tool_call>\n"},
    ]
    return {
        "messages": messages,
        "tools": tools,
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "stop": ["<tool_call>"],
        "temperature": 0,
        "max_tokens": CALL_TOKENS,
    }


def _answer(messages: list[dict[str, Any]], question: Question, limit: int) -> dict[str, Any]:
    results: list[str] = []
    for message in reversed(messages):
        if message.get("role") != "tool":
            break
        results.insert(0, _quotable(_clean(_text(message))))
    quote = "; ".join(result for result in results if result)[: 2 * QUOTE_CHARACTERS] or "nothing"
    shaped = [{"role": "system", "content": "Answer the question in one short sentence with the result."}]
    for asked, result, answer in _ANSWERS:
        shaped += [
            {"role": "user", "content": f"{asked}\nResult: {result}"},
            {"role": "assistant", "content": answer},
        ]
    shaped.append({"role": "user", "content": f"{_clean(question.text)}\nResult: {quote}"})
    return {
        "messages": shaped,
        "grammar": _answer_grammar(question, quote),
        "temperature": 0,
        "max_tokens": max(limit, ANSWER_TOKENS),
    }


def _plain(
    messages: list[dict[str, Any]], tools: list[dict[str, Any]], question: Question, limit: int
) -> dict[str, Any]:
    shaped = [{"role": "system", "content": SYSTEM}]
    for asked, answer in _TALK:
        shaped += [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
    kept: list[dict[str, Any]] = []
    room = HISTORY_CHARACTERS
    for message in reversed(messages[-HISTORY_MESSAGES:]):
        text = _clean(_text(message))[:room]
        if text and message.get("role") in {"user", "assistant"}:
            kept.insert(0, {"role": message["role"], "content": text})
            room -= len(text)
    request = {"messages": shaped + kept, "temperature": 0, "max_tokens": limit}
    if _is_about_itself(question):
        return request | {"grammar": _about_grammar(tools)}
    return request | {"repeat_penalty": 1.1}


def _is_about_itself(question: Question) -> bool:
    """ "Who are you?", "What can you do?": the word "you" and nothing else that carries meaning."""
    if not question.lower & {"you", "your", "yourself", "you're"}:
        return False
    return all(word in STOP_WORDS or word in _ABOUT_ITSELF or word.startswith("you") for word in question.lower)


def _about_grammar(tools: list[dict[str, Any]]) -> str:
    """GBNF: what is true of the model. Left alone it makes up a person."""
    names = ", ".join(str(tool["name"]) for tool in tools[:12])
    sentences = [
        "I am SmolLM2, a very small language model with 135 million parameters, running on this computer.",
        f"I can call these tools: {names}." if names else "I have no tools here.",
        "I know little and make mistakes, so check what I say.",
    ]
    return f"root ::= {_literal(' '.join(sentences[:2]))} ({_literal(' ' + sentences[2])})?\n"


def _answer_grammar(question: Question, quote: str) -> str:
    """GBNF for one sentence: words of the question in their order, a verb, the result letter by letter, a full stop.

    For "What time is it in Tokyo?" and "14:05": `The time in Tokyo is 14:05.` The model chooses words and verb.
    """
    stop = "" if quote.endswith((".", "!", "?")) else _literal(".")
    if quote.lower().startswith("error"):
        return f"root ::= {_literal('That did not work: ')} {_literal(quote)} {stop}\n"
    words = [word.rstrip("?!.,;:") for word in question.text.split()]
    words = [word for word in words if word and word.lower() not in _NOT_IN_SUBJECT][:16]
    subject = ['"The answer"', '"The result"']
    rules = []
    for position, word in enumerate(words):
        literal = _literal(word)
        following = f"rest{position + 1}" if position + 1 < len(words) else ""
        subject += [f"{literal} {following}", f'"The " {literal} {following}']
        skip = f' | " " {literal} {following}' if position else ""
        if position:
            rules.append(f'rest{position} ::= ""{skip}' + (f" | {following}" if following else ""))
    units = " | ".join(_literal(f" {word}") for word in words if word.isalpha() and word.lower() not in STOP_WORDS)
    tail = f"({units})?" if units and len(quote) < 30 else ""
    verbs = " | ".join(_literal(verb) for verb in _VERBS)
    return "\n".join(
        [
            f"root ::= (subject ({verbs}))? {_literal(quote)} {tail} {stop}",
            f"subject ::= {' | '.join(subject)}",
            *rules,
            "",
        ]
    )


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "").replace("\t", "\\t")
    return f'"{escaped}"'


def _quotable(text: str) -> str:
    """A result as one line: the fields of a small JSON object, or the lines joined, cut at a bound."""
    try:
        fields = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        fields = None
    if isinstance(fields, dict) and fields:
        lines = [f"{key} {value}" for key, value in fields.items()]
    elif isinstance(fields, list):
        lines = [str(value) for value in fields]
    else:
        lines = [line.strip() for line in text[: 4 * QUOTE_CHARACTERS].splitlines()]
    joined = ", ".join(line for line in lines if line)
    return joined if len(joined) <= QUOTE_CHARACTERS else joined[:QUOTE_CHARACTERS].rstrip() + " ..."


def _functions(tools: object) -> list[dict[str, Any]]:
    if not isinstance(tools, list):
        return []
    functions = [tool.get("function") for tool in tools if isinstance(tool, dict)]
    return [function for function in functions if isinstance(function, dict) and function.get("name")]


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def _last_user_text(messages: list[dict[str, Any]]) -> str:
    return next((_text(message) for message in reversed(messages) if message.get("role") == "user"), "")


def _limit(body: dict[str, Any], default: int) -> int:
    asked = body.get("max_completion_tokens") or body.get("max_tokens")
    return min(asked, 4 * default) if isinstance(asked, int) and asked > 0 else default


def _clean(text: str) -> str:
    """Text in which the model's own control words are no longer control words."""
    return text.replace("<|", "< |")
