"""`toolwire runs approve`, `deny` and `reply`: answers what a run waits for, from any machine.

An answer is given to the call that was shown, by its digest: if another one stands there by then, it is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from cyclopts import Parameter

from ..approval.request import Answer, ApprovalRequest, Scope
from ..errors import ConfigError
from ..strict_json import NotStrict, parse_arguments
from .ask import MAX_REASON, TerminalQuestion, read_line
from .console import PlainConsole, has_person
from .faults import FAILED, say
from .inputs import STANDARD_INPUT, as_text, read_whole
from .question import Line, changed_lines, sentence
from .runs_open import who, with_runs
from .runs_shown import as_it_is, call_lines
from .screen import Screen
from .visible import one_line

if TYPE_CHECKING:
    from ..durable.client import Runs
    from ..durable.records import Question

KEPT = "always.toml of the worker"
"""Where an answer that holds always is kept: on the machine that goes on with the run."""
_Kind = Literal["call", "question"]
_Database = Annotated[str | None, Parameter(metavar="URL")]


def approve(
    id: Annotated[str, Parameter(name="RUN")],
    call: Annotated[str | None, Parameter(name="CALL")] = None,
    /,
    *,
    session: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    always: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    offer: Annotated[int | None, Parameter(metavar="N")] = None,
    arguments: Annotated[str | None, Parameter(metavar="JSON")] = None,
    yes: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    database: _Database = None,
) -> int:
    """Lets a call run that a run waits with. At a terminal it is shown first, and you are asked.

    Parameters
    ----------
    id
        The run, by its id or as much of its beginning as no other has.
    call
        The call, by its id (toolwire runs show). Where only one waits, a terminal needs none: you see which it is.
    session
        Allow all that fits a rule which the call offers, until the run ends.
    always
        The same from now on, in the worker's folder: it is kept on the machine of the worker that goes on.
    offer
        Which of the rules, counted from 1, where the call offers several.
    arguments
        Run it with these arguments instead, a JSON object; "-" reads it from standard input.
    yes
        Do not ask. The call must be named then, and so it must be where no terminal is.
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """
    if session and always:
        raise ConfigError("--session and --always are two lengths of time", hint="Leave one of them out.")
    if offer is not None and not (session or always):
        raise ConfigError("--offer is about --session and --always", hint="Give one of them with it.")
    changed = None if arguments is None else _read_arguments(arguments)
    if changed is not None and (session or always):
        raise ConfigError("changed arguments can only be allowed once", hint="Leave --session and --always out.")
    scope = Scope.ALWAYS if always else Scope.SESSION if session else Scope.ONCE

    async def work(runs: Runs) -> int:
        question = await _waiting(runs, id, call, kind="call", named=yes or not has_person())
        assert question.request is not None
        request = as_it_is(question.request)
        if not yes and has_person() and scope is Scope.ONCE and changed is None:
            answer = await _asked(request)
        else:
            answer = Answer(allowed=True, scope=scope, offer=_offer(request, scope, offer), arguments=changed)
            if not yes and has_person() and not await _agreed(_approving(request, answer), "Run it?"):
                return _nothing()
        return await _answer(runs, question, msgspec.structs.replace(answer, who=who()))

    return with_runs(database, work)


def deny(
    id: Annotated[str, Parameter(name="RUN")],
    call: Annotated[str | None, Parameter(name="CALL")] = None,
    /,
    *,
    reason: Annotated[str, Parameter(metavar="TEXT", show_default=False)] = "",
    yes: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    database: _Database = None,
) -> int:
    """Keeps a call from running that a run waits with; the model is told so, and goes on.

    Parameters
    ----------
    id
        The run, by its id or as much of its beginning as no other has.
    call
        The call, by its id (toolwire runs show). Where only one waits, a terminal needs none: you see which it is.
    reason
        Why not; the model is told.
    yes
        Do not ask. The call must be named then, and so it must be where no terminal is.
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """
    words = as_text(reason).strip()
    if len(words) > MAX_REASON:
        raise ConfigError(f"the reason has more than {MAX_REASON:,} characters", hint="Say it shorter.")

    async def work(runs: Runs) -> int:
        question = await _waiting(runs, id, call, kind="call", named=yes or not has_person())
        assert question.request is not None
        if not yes and has_person():
            lines = list(call_lines(question.request, PlainConsole().width))
            if not await _agreed(lines, "Deny it?"):
                return _nothing()
        return await _answer(runs, question, Answer(allowed=False, reason=words, who=who()))

    return with_runs(database, work)


def reply(
    id: Annotated[str, Parameter(name="RUN")],
    /,
    *given: Annotated[str, Parameter(name="[CALL] TEXT")],
    database: _Database = None,
) -> int:
    """Answers a question that the model asks you. Words in quotes; a number stands for the answer it proposes.

    Parameters
    ----------
    id
        The run, by its id or as much of its beginning as no other has.
    given
        The answer; before it, where several questions wait, the call that asks (toolwire runs show).
    database
        Where the runs are. Without it: your setting `database`, or else a file beside the sessions.
    """
    if not 1 <= len(given) <= 2:
        what = "there is no answer" if not given else "these are more words than a call and an answer"
        raise ConfigError(what, hint='Put it into quotes: toolwire runs reply RUN "The second one."')
    *calls, text = given
    words = _words(text)

    async def work(runs: Runs) -> int:
        question = await _waiting(runs, id, calls[0] if calls else None, kind="question", named=False)
        chosen = dict(enumerate(question.options, 1))
        number = int(words) if words.isascii() and words.isdecimal() and len(words) < 4 else 0
        said = chosen.get(number, words)
        await runs.answer(question.run, question.id, said, digest=question.digest)
        asked = one_line(question.question)
        print(f"Answered {asked[:100]}{'…' * (len(asked) > 100)} with: {one_line(said)[:200]}")
        return 0

    return with_runs(database, work)


async def _waiting(runs: Runs, id: str, call: str | None, *, kind: _Kind, named: bool) -> Question:
    """The one question that is meant; a `ConfigError` says which there are where that is not clear."""
    info = await runs.get(as_text(id))
    waiting = [each for each in await runs.questions(info.id) if (each.request is None) == (kind == "question")]
    if not waiting:
        other = "It waits for words: toolwire runs reply" if kind == "call" else "A call waits: toolwire runs approve"
        raise ConfigError(
            f"no {kind} of run {info.id} waits for an answer; it is {info.state}",
            hint=f"{other} {info.id}" if info.questions else "Those that wait: toolwire runs list --state waiting",
        )
    ids = ", ".join(one_line(each.id) for each in waiting)
    if call is None:
        if named:
            raise ConfigError(
                f"which {kind} of run {info.id}? Nobody is there to be shown it",
                hint=f"Name it: {ids}. toolwire runs show {info.id} says what it is.",
            )
        if len(waiting) > 1:
            raise ConfigError(
                f"{len(waiting)} {kind}s of run {info.id} wait",
                hint=f"Name one: {ids}. toolwire runs show {info.id} says what each is.",
            )
        return waiting[0]
    wanted = as_text(call)
    fits = [each for each in waiting if each.id == wanted] or [each for each in waiting if each.id.startswith(wanted)]
    if len(fits) != 1:
        what = f"no {kind}" if not fits else f"more than one {kind}"
        raise ConfigError(f"{what} of run {info.id} that waits is called {one_line(wanted)}", hint=f"There are: {ids}.")
    return fits[0]


async def _asked(request: ApprovalRequest) -> Answer:
    """What the person says at the terminal, with all that can be said there."""
    console = PlainConsole()
    return await TerminalQuestion(console, Screen(console), kept_in=KEPT)(request)


def _approving(request: ApprovalRequest, answer: Answer) -> list[Line]:
    """The call, and what else would be allowed with it."""
    width = PlainConsole().width
    lines = list(call_lines(request, width))
    if answer.arguments is not None:
        lines += changed_lines(answer.arguments, width)
    if answer.scope is not Scope.ONCE:
        long = "until the run ends" if answer.scope is Scope.SESSION else f"from now on (kept in {KEPT})"
        lines += sentence(f"Allowed {long}: {one_line(request.offers[answer.offer].words)}", width, "yellow")
    return lines


def _offer(request: ApprovalRequest, scope: Scope, number: int | None) -> int:
    """Which rule an answer for longer than once makes."""
    if scope is Scope.ONCE:
        return 0
    if not (request.offers and request.fully_shown):
        raise ConfigError("this call can only be allowed once", hint="Leave --session and --always out.")
    listed = "; ".join(f"{place}. {one_line(each.words)}" for place, each in enumerate(request.offers, 1))
    if number is None and len(request.offers) > 1:
        raise ConfigError(f"{len(request.offers)} rules can be made of this call", hint=f"Give --offer N: {listed}")
    if not 1 <= (number or 1) <= len(request.offers):
        raise ConfigError(f"--offer {number} is none of the rules that this call offers", hint=f"There are: {listed}")
    return (number or 1) - 1


async def _agreed(lines: Sequence[Line], question: str) -> bool:
    """Shows what it is about and takes a typed yes."""
    console = PlainConsole()
    for line in lines:
        console.out(line.text, style=line.style or None)
    typed = await read_line(
        sys.stdin.fileno(), lambda: console.out(f"  {question} [y/N] ", end="", style="bold yellow")
    )
    if typed is None:
        print()
    return (typed or "").strip().lower() in ("y", "yes")


def _nothing() -> int:
    say("nothing was answered; the run waits on")
    return FAILED


async def _answer(runs: Runs, question: Question, answer: Answer) -> int:
    assert question.request is not None
    await runs.answer(question.run, question.id, answer, digest=question.digest)
    name = one_line(question.request.invocation.tool_name)
    print(f"{'Approved' if answer.allowed else 'Denied'} {name} ({one_line(question.id)}) of run {question.run}.")
    return 0


def _read_arguments(given: str) -> dict[str, Any]:
    text = _words(given)
    try:
        return parse_arguments(text)
    except NotStrict as problem:
        raise ConfigError(
            f"--arguments is no JSON object: {problem}", hint="""Write it whole: '{"path": "notes.md"}'"""
        ) from None


def _words(given: str) -> str:
    text = read_whole(given).decode("utf-8", "replace") if given == STANDARD_INPUT else as_text(given)
    if not text.strip():
        raise ConfigError("what was given is empty", hint="Write something, in quotes.")
    return text.strip()
