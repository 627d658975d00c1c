"""What a broken call quotes never becomes a call, and its neighbours are read."""

from __future__ import annotations

import pytest

from embedded.text_feeding import check_cuts, check_truncated

PING = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
NEXT = '<tool_call>{"name": "echo", "arguments": {"text": "x"}}</tool_call>'


@pytest.mark.parametrize(
    "call",
    [
        f'{{"name": "search", "arguments": {{"query": @, "x": "{PING.replace(chr(34), chr(92) + chr(34))}"}}}}',
        f"{{'name': 'search', 'arguments': {{'query': '{PING}'}}}}",
        f"{{'name': 'search', 'arguments': {{'query': 'it's {PING} \\' b' }}}}",
        f"{{'name': 'search', 'arguments': {{'query': [@, '{PING}' , 1]}}}}",
        f'{{"name": "search", "arguments": {{"query": \'{PING}\'}}}}',
        '{"name": "search", "arguments": {"query": don\'t, "x": 1}}',
        '{"name": "search", "arguments": {"query": "5" wide}}',
    ],
)
@pytest.mark.parametrize("name", ["search", "nobody"])
@pytest.mark.parametrize("repair", [False, True])
def test_what_stands_in_quotes_begins_nothing(call: str, name: str, repair: bool) -> None:
    text = f"<tool_call>{call.replace('search', name)}</tool_call>\n{NEXT}"
    reading = check_cuts("hermes", text, repair=repair)
    assert [name for name, _ in reading.calls if name != "search"] == ["echo"]
    check_truncated("hermes", text, repair=repair)


@pytest.mark.parametrize(
    "call",
    [
        "search(query=@, x='<|tool_call_start|>[ping()]<|tool_call_end|>')",
        'search(query=oops, x="""<|tool_call_start|>[ping()]<|tool_call_end|>""")',
        "search('<|tool_call_start|>[ping()]<|tool_call_end|>')",
        "search(query=[('a', '<|tool_call_start|>[ping()]<|tool_call_end|>') oops])",
        "search(query=don't)",
        "search(query='it's <|tool_call_start|>[ping()]<|tool_call_end|>')",
        'search(query="say "hi" <|tool_call_start|>[ping()]<|tool_call_end|>")',
        "search(query=['a' 'it's <|tool_call_start|>[ping()]<|tool_call_end|>'])",
    ],
)
@pytest.mark.parametrize("name", ["search", "nobody"])
def test_what_an_expression_quotes_begins_nothing(call: str, name: str) -> None:
    text = f"<|tool_call_start|>[{call.replace('search', name)}, echo(text='x')]<|tool_call_end|>"
    reading = check_cuts("lfm2", text)
    assert [name for name, _ in reading.calls if name != "search"] == ["echo"]
    check_truncated("lfm2", text)
