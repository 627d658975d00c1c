"""What a server asks of us: nothing passes without a person's yes, and nothing passes that they did not see."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated, Any, cast

import mcp_types
import pytest
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve, Sample
from mcp.shared.exceptions import MCPError
from mcp_types import (
    AudioContent,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    ImageContent,
    SamplingMessage,
    TextContent,
    ToolChoice,
)
from pydantic import BaseModel

from toolwire.approval.audit import AuditRecord
from toolwire.approval.gate import Gate
from toolwire.approval.policy import Mode, Policy
from toolwire.approval.request import Answer, ApprovalRequest, Ask
from toolwire.approval.rules import Decision, Rule
from toolwire.errors import ProviderError
from toolwire.mcp.host import FillIn, Sampled, Sampling
from toolwire.mcp.requests import MESSAGE_CHARACTERS, REQUESTS, URL_CHARACTERS, ServerRequests
from toolwire.mcp.sampling import MAX_TOKENS, MESSAGES, SAMPLING_BYTES
from toolwire.messages import MediaPart, Message, TextPart

CONTEXT = cast(ClientRequestContext, None)
PIXEL = b64encode(b"\x89PNG a picture").decode()
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}


class Standing:
    """An agent's side, around a real gate."""

    def __init__(
        self, ask: Ask | None, *, mode: str = Mode.ASK, rules: tuple[Rule, ...] = (), fault: Exception | None = None
    ) -> None:
        self.audit: list[AuditRecord] = []
        self.gate = Gate(ask, policy=Policy(mode, rules), audit=self.audit.append)
        self.sampled: list[Sampling] = []
        self.told: list[str] = []
        self.run = 1
        self._fault = fault

    async def sample(self, request: Sampling) -> Sampled:
        self.sampled.append(request)
        if self._fault is not None:
            raise self._fault
        return Sampled("Forty-two.", "any-model", "endTurn")

    def asked(self, request: ApprovalRequest) -> None:
        self.told.append(f"asked {request.id}")

    def answered(self, request: ApprovalRequest, answer: Answer) -> None:
        self.told.append(f"answered {request.id} {answer.allowed}")

    @property
    def trail(self) -> list[str]:
        return [record.event for record in self.audit]


class Person:
    """Answers every question the same, and remembers them."""

    def __init__(self, answer: Answer | bool = True) -> None:
        self.answer = answer
        self.seen: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> Answer | bool:
        self.seen.append(request)
        return self.answer


def filling(content: dict[str, Any] | None) -> FillIn:
    async def fill_in(server: str, message: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        return content

    return fill_in


def said(text: str, role: str = "user") -> SamplingMessage:
    return SamplingMessage(role=cast(Any, role), content=TextContent(type="text", text=text))


def asking(*messages: SamplingMessage, max_tokens: int = 100, **more: Any) -> CreateMessageRequestParams:
    return CreateMessageRequestParams(messages=list(messages) or [said("What is it?")], max_tokens=max_tokens, **more)


def form(schema: dict[str, Any] | None = None, message: str = "Who are you?") -> ElicitRequestFormParams:
    return ElicitRequestFormParams(message=message, requested_schema=FORM if schema is None else schema)


def address(url: str, message: str = "Log in there.") -> ElicitRequestURLParams:
    return ElicitRequestURLParams(message=message, url=url, elicitation_id="e1")


def requests_of(host: Standing | None, fill_in: FillIn | None = None) -> ServerRequests:
    return ServerRequests("notes", lambda: host, fill_in)


async def sample(host: Standing | None, params: CreateMessageRequestParams) -> CreateMessageResult | ErrorData:
    requests = requests_of(host)
    with requests.answering():
        return await requests.sampling(CONTEXT, params)


async def elicit(
    host: Standing | None, params: mcp_types.ElicitRequestParams, fill_in: FillIn | None = None
) -> ElicitResult | ErrorData:
    requests = requests_of(host, fill_in)
    with requests.answering():
        return await requests.elicitation(CONTEXT, params)


async def test_the_model_is_asked_what_the_person_saw_and_the_server_gets_its_answer() -> None:
    person = Person()
    host = Standing(person)
    picture = SamplingMessage(
        role="user",
        content=[TextContent(type="text", text="And?"), ImageContent(type="image", data=PIXEL, mime_type="image/png")],
    )
    given = await sample(
        host,
        asking(
            said("What is\nthis?"),
            said("A cat.", "assistant"),
            picture,
            system_prompt="Be short.",
            temperature=0.5,
            stop_sequences=["END"],
        ),
    )
    assert isinstance(given, CreateMessageResult)
    assert isinstance(given.content, TextContent)
    assert (given.content.text, given.model, given.stop_reason) == ("Forty-two.", "any-model", "endTurn")
    [request] = host.sampled
    assert request == Sampling(
        messages=[
            Message("user", [TextPart("What is\nthis?")]),
            Message("assistant", [TextPart("A cat.")]),
            Message("user", [TextPart("And?"), MediaPart("image/png", data=PIXEL)]),
        ],
        system="Be short.",
        max_tokens=100,
        temperature=0.5,
        stop=("END",),
    )
    [asked] = person.seen
    assert asked.invocation.tool_name == "mcp__notes__sampling"
    assert asked.why == "the MCP server notes wants to ask your model this, and gets its answer"
    assert asked.risk == "network"
    assert asked.fully_shown
    assert not asked.offers, "it can be allowed once only"
    shown = asked.shown.split("\n")
    assert shown[:6] == ["system: Be short.", "user_1:", "| What is", "| this?", "assistant_2: A cat.", "user_3: And?"]
    assert '"picture": "image/png"' in asked.shown
    assert shown[-3:] == ["max_tokens: 100", "temperature: 0.5", 'stop: ["END"]']
    assert host.trail == ["asked", "approved", "started", "finished"]
    assert host.audit[-1].outcome == "ok"
    assert [told.split()[0] for told in host.told] == ["asked", "answered"]


async def test_the_person_may_change_the_words_and_not_the_pictures() -> None:
    picture = SamplingMessage(role="user", content=ImageContent(type="image", data=PIXEL, mime_type="image/png"))
    person = Person()
    await sample(Standing(person), asking(said("My name is Ann."), picture))
    arguments = person.seen[0].invocation.arguments

    host = Standing(Person(Answer(allowed=True, arguments={**arguments, "user_1": "My name is X."})))
    assert isinstance(await sample(host, asking(said("My name is Ann."), picture)), CreateMessageResult)
    assert host.sampled[0].messages[0].text == "My name is X."

    for changed in ({"user_2": {"picture": "image/gif"}}, {"max_tokens": 5_000}, {"user_9": "more"}):
        host = Standing(Person(Answer(allowed=True, arguments={**arguments, **changed})))
        assert isinstance(await sample(host, asking(said("My name is Ann."), picture)), ErrorData), changed
        assert host.sampled == []


ALLOWS = Rule(decision=Decision.ALLOW, tool=("mcp__notes__*",))


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO_EDIT, Mode.FULL])
@pytest.mark.parametrize("rules", [(), (ALLOWS,)], ids=["no rules", "a rule that allows it"])
async def test_a_person_is_asked_whatever_allows_it(mode: Mode, rules: tuple[Rule, ...]) -> None:
    person = Person(False)
    host = Standing(person, mode=mode, rules=rules)
    refused = await sample(host, asking())
    assert isinstance(refused, ErrorData)
    assert refused.code == -1
    assert await elicit(host, form(), filling({"name": "Ann"})) == ElicitResult(action="decline")
    assert await elicit(host, address("https://a.example/")) == ElicitResult(action="decline")
    assert len(person.seen) == 3
    assert host.sampled == []
    assert "started" not in host.trail


@pytest.mark.parametrize(
    "host",
    [
        lambda: None,
        lambda: Standing(None, mode=Mode.FULL),
        lambda: Standing(Person(), rules=(Rule(decision=Decision.DENY, tool=("mcp__*",)),)),
    ],
    ids=["no agent", "nobody to ask", "a rule that denies"],
)
async def test_where_nobody_says_yes_it_is_no(host: Callable[[], Standing | None]) -> None:
    filled: list[str] = []

    async def fill_in(server: str, message: str, schema: dict[str, Any]) -> dict[str, Any]:
        filled.append(message)
        return {"name": "Ann"}

    assert isinstance(await sample(host(), asking()), ErrorData)
    assert await elicit(host(), form(), fill_in) == ElicitResult(action="decline")
    assert await elicit(host(), address("https://a.example/")) == ElicitResult(action="decline")
    assert filled == []


async def test_what_the_person_says_to_the_model_is_not_told_to_the_server() -> None:
    refused = await sample(Standing(Person(Answer(allowed=False, reason="Ann is ill"))), asking())
    assert refused == ErrorData(code=-1, message="it was not approved")
    failed = await sample(Standing(Person(), fault=ProviderError("bad key sk-123", hint="")), asking())
    assert failed == ErrorData(code=mcp_types.INTERNAL_ERROR, message="the model could not be asked")


async def test_a_server_asks_only_while_something_is_asked_of_it() -> None:
    person = Person()
    host = Standing(person)
    requests = requests_of(host, filling({"name": "Ann"}))
    for _ in range(2):
        assert isinstance(await requests.sampling(CONTEXT, asking()), ErrorData)
        assert await requests.elicitation(CONTEXT, form()) == ElicitResult(action="decline")
        assert person.seen == []
        with requests.answering():
            pass
    with requests.answering():
        with requests.answering():
            pass
        assert isinstance(await requests.sampling(CONTEXT, asking()), CreateMessageResult)


async def test_so_many_times_and_no_more() -> None:
    person = Person()
    host = Standing(person)
    requests = requests_of(host, filling({"name": "Ann"}))
    with requests.answering():
        made = [await requests.sampling(CONTEXT, asking()) for _ in range(REQUESTS + 2)]
        assert [isinstance(each, CreateMessageResult) for each in made] == [True] * REQUESTS + [False] * 2
        filled = [await requests.elicitation(CONTEXT, form()) for _ in range(REQUESTS + 1)]
        assert [isinstance(each, ElicitResult) and each.action for each in filled] == ["accept"] * REQUESTS + [
            "decline"
        ]
    assert len(person.seen) == 2 * REQUESTS
    with requests.answering():
        assert isinstance(await requests.sampling(CONTEXT, asking()), ErrorData)
        host.run += 1
        assert isinstance(await requests.sampling(CONTEXT, asking()), CreateMessageResult)


@pytest.mark.parametrize("by", ["the end of the call", "the connection"])
async def test_a_question_is_taken_back_when_nobody_waits_for_it(by: str) -> None:
    asked = asyncio.Event()
    left = asyncio.Event()

    async def person(request: ApprovalRequest) -> bool:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return True

    host = Standing(person)
    requests = requests_of(host, filling({"name": "Ann"}))
    with requests.answering():
        waiting = [
            asyncio.create_task(requests.elicitation(CONTEXT, form())),
            asyncio.create_task(requests.sampling(CONTEXT, asking())),
        ]
        async with asyncio.timeout(5):
            await asked.wait()
        if by == "the connection":
            for task in waiting:
                task.cancel()
    async with asyncio.timeout(5):
        given = await asyncio.gather(*waiting, return_exceptions=True)
        await left.wait()
    if by == "the connection":
        assert all(isinstance(each, asyncio.CancelledError) for each in given)
    else:
        assert given[0] == ElicitResult(action="cancel")
        assert isinstance(given[1], ErrorData)
    assert host.sampled == []
    await asyncio.sleep(0.01)
    assert host.trail.count("denied") == 2


async def test_the_time_of_a_person_is_not_the_server_s(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("toolwire.mcp.requests.time", SimpleNamespace(monotonic=lambda: now[0]))
    asked = asyncio.Queue[None]()
    said = asyncio.Event()

    async def person(request: ApprovalRequest) -> bool:
        asked.put_nowait(None)
        await said.wait()
        return True

    requests = requests_of(Standing(person))
    with requests.answering():
        for expected in (7, 14):
            said.clear()
            waiting = []
            for _ in range(3):
                waiting.append(asyncio.create_task(requests.sampling(CONTEXT, asking())))
                await asyncio.sleep(0)
                now[0] += 2
            await asked.get()
            now[0] += 1
            assert requests.asked_seconds == expected, "side by side it is waited once"
            said.set()
            await asyncio.gather(*waiting)
            assert requests.asked_seconds == expected
            now[0] += 50
            assert requests.asked_seconds == expected


SOUND = SamplingMessage(role="user", content=AudioContent(type="audio", data=PIXEL, mime_type="audio/wav"))
NOT_ASKED: dict[str, tuple[CreateMessageRequestParams, str]] = {
    "tools": (asking(tools=[mcp_types.Tool(name="a", input_schema={"type": "object"})]), "gets no tools"),
    "a choice of tools": (asking(tool_choice=ToolChoice(mode="auto")), "gets no tools"),
    "the conversation": (asking(include_context="thisServer"), "nothing of it"),
    "no messages": (CreateMessageRequestParams(messages=[], max_tokens=10), "1 to 64"),
    "too many": (asking(*[said("x")] * (MESSAGES + 1)), "65 messages"),
    "too long": (asking(said("x" * SAMPLING_BYTES), said("y")), "262,144 bytes"),
    "too long a system prompt": (asking(system_prompt="ä" * (SAMPLING_BYTES // 2 + 1)), "262,144 bytes"),
    "sound": (asking(SOUND), "only text and pictures"),
    "no base64": (
        asking(SamplingMessage(role="user", content=ImageContent(type="image", data="a b", mime_type="image/png"))),
        "no base64",
    ),
    "no picture": (
        asking(SamplingMessage(role="user", content=ImageContent(type="image", data=PIXEL, mime_type="text/html"))),
        "by its type",
    ),
    "no tokens": (asking(max_tokens=0), "no answer"),
    "a hot model": (asking(temperature=float("nan")), "no temperature"),
    "endless stops": (asking(stop_sequences=["x"] * 17), "16 texts"),
    "an empty stop": (asking(stop_sequences=[""]), "16 texts"),
}


@pytest.mark.parametrize("case", NOT_ASKED)
async def test_what_no_model_is_asked(case: str) -> None:
    params, words = NOT_ASKED[case]
    person = Person()
    refused = await sample(Standing(person), params)
    assert isinstance(refused, ErrorData)
    assert refused.code == mcp_types.INVALID_PARAMS
    assert words in refused.message
    assert person.seen == []


async def test_at_the_bounds_it_is_asked_and_tokens_are_capped() -> None:
    host = Standing(Person())
    assert isinstance(await sample(host, asking(*[said("x")] * MESSAGES, max_tokens=10**9)), CreateMessageResult)
    assert isinstance(await sample(host, asking(said("x" * SAMPLING_BYTES))), CreateMessageResult)
    assert host.sampled[0].max_tokens == MAX_TOKENS
    assert len(host.sampled[0].messages) == MESSAGES
    assert host.sampled[1].messages[0].text == "x" * SAMPLING_BYTES


@pytest.mark.parametrize(
    ("stops", "text", "reason"),
    [
        (["END"], "Forty-two.", "endTurn"),
        (["-two"], "Forty", "stopSequence"),
        (["two", "ty"], "For", "stopSequence"),
        (["ty", "two"], "For", "stopSequence"),
        (["F"], "", "stopSequence"),
    ],
)
async def test_an_answer_ends_before_the_first_text_to_stop_at(stops: list[str], text: str, reason: str) -> None:
    given = await sample(Standing(Person()), asking(stop_sequences=stops))
    assert isinstance(given, CreateMessageResult)
    assert (cast(TextContent, given.content).text, given.stop_reason) == (text, reason)


async def test_a_form_is_filled_in_after_the_person_agreed_to() -> None:
    person = Person()
    given: list[tuple[str, str, dict[str, Any]]] = []

    async def fill_in(server: str, message: str, schema: dict[str, Any]) -> dict[str, Any]:
        assert len(person.seen) == 1
        given.append((server, message, schema))
        return {"name": "Ann", "age": 41}

    host = Standing(person)
    accepted = await elicit(host, form(), fill_in)
    assert accepted == ElicitResult(action="accept", content={"name": "Ann", "age": 41})
    assert given == [("notes", "Who are you?", FORM)]
    [asked] = person.seen
    assert asked.invocation.arguments == {"message": "Who are you?", "form": FORM}
    assert asked.why == "the MCP server notes wants you to fill in a form, and gets it"
    assert asked.risk == "unknown"
    assert host.trail == ["asked", "approved", "started", "finished"]


@pytest.mark.parametrize(
    ("content", "result"),
    [
        (None, ElicitResult(action="decline")),
        ({"age": 3}, ErrorData(code=mcp_types.INTERNAL_ERROR, message="the person could not be asked")),
        ({"name": 3}, ErrorData(code=mcp_types.INTERNAL_ERROR, message="the person could not be asked")),
        ({"name": "Ann", "x": 1}, ErrorData(code=mcp_types.INTERNAL_ERROR, message="the person could not be asked")),
    ],
)
async def test_only_what_fits_the_form_is_sent(content: dict[str, Any] | None, result: Any) -> None:
    assert await elicit(Standing(Person()), form(), filling(content)) == result


async def test_without_anyone_to_fill_it_in_nobody_is_asked() -> None:
    person = Person()
    assert await elicit(Standing(person), form()) == ElicitResult(action="decline")
    assert person.seen == []


async def test_what_is_asked_for_cannot_be_edited() -> None:
    edited = {"message": "Who are you?", "form": {"type": "object", "properties": {"x": {"type": "string"}}}}
    host = Standing(Person(Answer(allowed=True, arguments=edited)))
    assert await elicit(host, form(), filling({"x": "y"})) == ElicitResult(action="decline")


@pytest.mark.parametrize("name", ["password", "api_key", "apiKey", "PIN", "access-token", "client secret"])
async def test_a_field_for_a_secret_is_warned_of(name: str) -> None:
    person = Person(False)
    secret = {"type": "object", "properties": {"user": {"type": "string"}, name: {"type": "string"}}}
    await elicit(Standing(person), form(secret), filling({}))
    assert "looks like a password or a key" in person.seen[0].why


NO_FORMS: dict[str, Any] = {
    "no object": {"type": "string"},
    "nothing": {},
    "nested": {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
    "a list of anything": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
    "a reference": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}},
    "several types": {"type": "object", "properties": {"a": {"type": ["string", "integer"]}}},
    "too many fields": {"type": "object", "properties": {f"f{at}": {"type": "string"} for at in range(33)}},
    "too long": {"type": "object", "properties": {"a": {"type": "string", "description": "x" * 40_000}}},
    "too many choices": {
        "type": "object",
        "properties": {"a": {"type": "string", "enum": [str(x) for x in range(201)]}},
    },
    "choices of numbers": {"type": "object", "properties": {"a": {"type": "string", "enum": [1, 2]}}},
    "a field that is none": {"type": "object", "properties": {"a": 1}},
    "a missing field required": {"type": "object", "properties": {}, "required": ["a"]},
    "a pattern that is none": {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
}


@pytest.mark.parametrize("case", NO_FORMS)
async def test_what_is_no_form_is_refused_before_anyone_is_asked(case: str) -> None:
    person = Person()
    refused = await elicit(Standing(person), form(NO_FORMS[case]), filling({}))
    assert isinstance(refused, ErrorData)
    assert refused.code == mcp_types.INVALID_PARAMS
    assert person.seen == []


async def test_an_address_is_shown_whole_and_never_opened() -> None:
    person = Person()
    url = "https://login.example.org/start?" + "x" * 3_000 + "&end"
    host = Standing(person)
    assert await elicit(host, address(url)) == ElicitResult(action="accept")
    [asked] = person.seen
    assert asked.fully_shown
    assert asked.shown.split("\n") == ["message: Log in there.", "host: login.example.org", f"url: {url}"]
    assert "nothing opens it for you" in asked.why
    assert host.sampled == []


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "file://a.example/etc/passwd",
        "ftp://a.example/",
        "https://a.example/\\x",
        "https://",
        "https://bank.example@evil.example/",
        "https://bank.example\\@evil.example/",
        "https://bаnk.example/",
        "https://a.example/\u202egpj",
        "https://a.example/ b",
        "https://a.example/\n",
        "https://[::1",
        "nothing",
        "https://a.example/" + "x" * (URL_CHARACTERS - 17),
    ],
)
async def test_what_is_no_plain_address_is_refused(url: str) -> None:
    person = Person()
    refused = await elicit(Standing(person), address(url))
    assert isinstance(refused, ErrorData)
    assert person.seen == []


async def test_an_address_and_a_message_as_long_as_can_be() -> None:
    url = "https://a.example/" + "x" * (URL_CHARACTERS - 18)
    assert await elicit(Standing(Person()), address(url, "x" * MESSAGE_CHARACTERS)) == ElicitResult(action="accept")


async def test_what_fails_or_is_cut_off_is_in_the_trail() -> None:
    host = Standing(Person(), fault=ProviderError("no", hint=""))
    await sample(host, asking())
    assert (host.trail[-1], host.audit[-1].outcome) == ("finished", "error")
    begun = asyncio.Event()

    async def fill_in(server: str, message: str, schema: dict[str, Any]) -> None:
        begun.set()
        await asyncio.Event().wait()

    host = Standing(Person())
    requests = requests_of(host, fill_in)
    with requests.answering(), requests.answering():
        filling_in = asyncio.create_task(requests.elicitation(CONTEXT, form()))
        await begun.wait()
        filling_in.cancel()
        await asyncio.wait({filling_in})
        await asyncio.sleep(0)
        assert (host.trail[-1], host.audit[-1].outcome) == ("finished", "cancelled")


@pytest.mark.parametrize("there", [True, False])
def test_a_server_is_told_what_it_may_ask_for(there: bool) -> None:
    host = Standing(Person()) if there else None
    assert (requests_of(host).has_host, requests_of(host).has_form) == (there, False)
    assert requests_of(host, filling({})).has_form is there


async def test_a_message_is_bounded() -> None:
    person = Person()
    for params in (form(message="x" * (MESSAGE_CHARACTERS + 1)), address("https://a/", "x" * (MESSAGE_CHARACTERS + 1))):
        assert isinstance(await elicit(Standing(person), params, filling({"name": "Ann"})), ErrorData)
    assert person.seen == []


class Named(BaseModel):
    """What the honest server asks for."""

    name: str
    email: str | None = None


def who() -> Elicit[Named]:
    return Elicit("Who are you?", Named)


def opinion() -> Sample:
    return Sample([said("Is it good?")], max_tokens=50)


honest = MCPServer("honest")


@honest.tool()
async def greet(person: Annotated[ElicitationResult[Named], Resolve(who)]) -> str:
    return f"{person.action} {getattr(person, 'data', None)!r}"


@honest.tool()
async def judge(answer: Annotated[CreateMessageResult, Resolve(opinion)]) -> str:
    return cast(TextContent, answer.content).text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("allowed", [True, False])
async def test_the_sdk_asks_the_same_way_in_old_and_new_protocols(mode: Any, allowed: bool) -> None:
    person = Person(allowed)
    requests = requests_of(Standing(person), filling({"name": "Ann"}))
    async with Client(
        honest, mode=mode, sampling_callback=requests.sampling, elicitation_callback=requests.elicitation
    ) as client:
        with requests.answering():
            greeted = await client.call_tool("greet", {})
            try:
                judged: Any = await client.call_tool("judge", {})
            except MCPError as error:
                judged = error
    assert len(person.seen) == 2
    said_words = cast(TextContent, greeted.content[0]).text
    if allowed:
        assert said_words == "accept Named(name='Ann', email=None)"
        assert judged.content[0].text == "Forty-two."
    else:
        assert said_words == "decline None"
        assert isinstance(judged, Exception) or judged.is_error
