"""What runs wait for people for: written down with the call that it is about, and answered once, from anywhere."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import sqlalchemy as sa

from ..approval.request import Answer, Scope
from ..approval.rules import Decision, Rule
from .database import Database, questions, runs
from .ledger import hold
from .records import Question, RunState, to_json, to_text

_ASKING = [RunState.QUEUED, RunState.RUNNING, RunState.WAITING, RunState.PAUSED]


class Questions:
    """All of them. Methods are called in a thread."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def ask(self, question: Question, attempt: int) -> tuple[Question, int]:
        """The question as it stands, with its answer if there is one, and the run's signals; written down if it is new.

        Other questions about the same call, for which it was another one, are void. So is one of its digest that shows
        something else: whoever answered that one saw what nobody asked.
        """
        body = to_json(question)
        written = msgspec.json.decode(body, type=Question)

        def work(connection: sa.Connection) -> tuple[Question, int]:
            signals = hold(connection, question.run, attempt)
            mine = sa.and_(
                questions.c.run == question.run, questions.c.turn == question.turn, questions.c.id == question.id
            )
            insert = self.database.insert(questions).values(
                run=question.run,
                id=question.id,
                digest=question.digest,
                turn=question.turn,
                asked=question.asked,
                body=body,
            )
            connection.execute(insert.on_conflict_do_nothing())
            connection.execute(questions.delete().where(mine, questions.c.digest != question.digest))
            asked = as_question(connection.execute(sa.select(questions).where(mine)).one())
            if _shown(asked) != _shown(written):
                connection.execute(questions.delete().where(mine))
                connection.execute(insert)
                asked = written
            return asked, signals

        return self.database.do(work)

    def so_far(self, run: str) -> tuple[list[tuple[int, Rule]], set[tuple[int, str]]]:
        """What people have decided for longer than one call, and in which turn, in the order in which they did; and the
        calls whose questions are open.

        As with the gate, an answer with other arguments decides that call alone. What was offered is read from the
        database: a rule that says other than the answer, or is not about the call's own tool alone, was not offered.
        """

        def work(connection: sa.Connection) -> list[Question]:
            mine = sa.select(questions).where(questions.c.run == run).order_by(questions.c.answered)
            return [as_question(row) for row in connection.execute(mine)]

        rules, are_open = [], set()
        for each in self.database.do(work):
            if each.answered is None:
                are_open.add((each.turn, each.id))
            if each.request is None or each.answer is None or each.answer.arguments is not None:
                continue
            if each.answer.scope is Scope.ONCE:
                continue
            offers = each.request.offers if each.answer.allowed else each.request.refusals
            if not 0 <= each.answer.offer < len(offers):
                continue
            rule = offers[each.answer.offer].rule
            decision = Decision.ALLOW if each.answer.allowed else Decision.DENY
            if rule.decision is decision and rule.tool == (each.request.invocation.tool_name,):
                rules.append((each.turn, msgspec.structs.replace(rule, source=f"{each.answer.scope} decision")))
        return rules, are_open

    def withdraw(self, run: str, attempt: int, turn: int, id: str) -> None:
        """Takes back what nobody answered about a call that went on without."""
        mine = (questions.c.run == run, questions.c.turn == turn, questions.c.id == id, questions.c.answered.is_(None))

        def work(connection: sa.Connection) -> None:
            hold(connection, run, attempt)
            connection.execute(questions.delete().where(*mine))

        self.database.do(work)

    def waiting(self, run: str | None) -> list[Question]:
        """What waits, the oldest first; of all runs that are not over, or of one."""
        wanted = (
            sa.select(questions)
            .join(runs, runs.c.id == questions.c.run)
            .where(questions.c.answered.is_(None), runs.c.state.in_(_ASKING))
            .order_by(questions.c.asked)
        )
        if run is not None:
            wanted = wanted.where(questions.c.run == run)
        rows = self.database.do(lambda connection: connection.execute(wanted).all())
        return [as_question(row) for row in rows]

    def answer(self, run: str, id: str, answer: Answer | str, digest: str | None) -> tuple[Question | None, bool]:
        """The newest question about this call, and whether the answer was taken; None where nothing can be answered."""
        mine = (questions.c.run == run) & (questions.c.id == to_text(id))
        now = time.time()

        def work(connection: sa.Connection) -> tuple[Question | None, bool]:
            state = connection.execute(sa.select(runs.c.state).where(runs.c.id == run)).scalar()
            if state is None or RunState(state).is_over:
                return None, False
            newest = sa.select(questions).where(mine).order_by(questions.c.turn.desc()).limit(1)
            row = connection.execute(newest).first()
            if row is None:
                return None, False
            asked = as_question(row)
            if asked.answered == now:
                return asked, True  # the first try had gone through, and its connection was lost
            if asked.answered is not None or (digest is not None and digest != asked.digest):
                return asked, False
            if (asked.request is None) is isinstance(answer, Answer):
                return asked, False
            given = msgspec.structs.replace(
                asked,
                request=None,
                answered=now,
                answer=answer if isinstance(answer, Answer) else None,
                reply=None if isinstance(answer, Answer) else answer,
            )
            changed = connection.execute(
                questions.update()
                .where(
                    mine,
                    questions.c.turn == asked.turn,
                    questions.c.digest == asked.digest,
                    questions.c.answered.is_(None),
                )
                .values(answered=now, answer=to_json(given))
            )
            if not changed.rowcount:
                return asked, False
            connection.execute(runs.update().where(runs.c.id == run).values(signals=runs.c.signals + 1))
            return msgspec.structs.replace(given, request=asked.request), True

        return self.database.do(work)


def _shown(question: Question) -> Any:
    """What an answer is about: what the digest covers of it."""
    if question.request is None:
        return question.question, question.options
    call = question.request.invocation
    return call.id, call.call_id, call.turn, call.tool_name, call.arguments


def as_question(row: Any) -> Question:
    """A row of questions, with its answer."""
    question = msgspec.json.decode(row.body, type=Question)
    if row.answered is None:
        return question
    given = msgspec.json.decode(row.answer, type=Question)
    return msgspec.structs.replace(question, answered=row.answered, answer=given.answer, reply=given.reply)
