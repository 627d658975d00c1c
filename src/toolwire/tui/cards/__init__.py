"""Live tool cards: a call while it streams, waits, runs, and what came of it."""

from .card import ToolCard as ToolCard
from .group import CardGroup as CardGroup

__all__ = ["CardGroup", "ToolCard"]
