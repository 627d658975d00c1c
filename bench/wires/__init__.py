"""The wire formats as the bench knows them: what to measure, what to break, what to hold against them."""

from __future__ import annotations

from . import anthropic, bedrock, chat, cohere, gemini, ollama, responses
from .subject import Subject as Subject

SUBJECTS: dict[str, Subject] = {
    module.SUBJECT.name: module.SUBJECT for module in (chat, responses, anthropic, gemini, ollama, bedrock, cohere)
}
"""By the name that `toolwire.providers.wires` has for them."""
