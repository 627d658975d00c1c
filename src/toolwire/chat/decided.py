"""What a person is told of the rule that they made of an answer: what it is, and how it is taken back."""

from __future__ import annotations

from ..approval.hidden import marked
from ..approval.request import Answer, ApprovalRequest, Scope

WORKER = "always.toml of the worker"
"""Where an answer that holds always is kept for a durable run: on the machine that goes on with it."""
_RULE_CHARACTERS = 500


def how_long(scope: Scope, *, of_run: bool = False) -> str:
    """For how long an answer of this scope holds, in words; `of_run`: one to a durable run."""
    if of_run:
        return "always in the worker's folder" if scope is Scope.ALWAYS else "until the run ends"
    return "always in this workspace" if scope is Scope.ALWAYS else "for this session"


def decided_words(request: ApprovalRequest, answer: Answer, kept_in: str, *, of_run: bool = False) -> str:
    """A sentence or two, with marks for what is hidden in them; empty where the answer holds once."""
    if answer.scope is Scope.ONCE:
        return ""
    offers = request.offers if answer.allowed else request.refusals
    rule = marked(offers[answer.offer].words)
    rule = rule if len(rule) <= _RULE_CHARACTERS else f"{rule[:_RULE_CHARACTERS]}…"
    said = f"You {'allow' if answer.allowed else 'deny'} {how_long(answer.scope, of_run=of_run)}: {rule}."
    if answer.scope is Scope.ALWAYS:
        return f"{said} It is kept in {marked(kept_in)}: delete it there to be asked again."
    if of_run:
        return said
    return f"{said} /approvals forget takes back what you decided for this session."
