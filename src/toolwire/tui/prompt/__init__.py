"""Where the person types: a few lines that grow, what may be typed there, what was typed before."""

from .prompt import Prompt

__all__ = ["Prompt"]
