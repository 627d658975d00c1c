"""Marks for tests that need a program which a bare machine does not have."""

from __future__ import annotations

import shutil

import pytest


def needs(program: str) -> pytest.MarkDecorator:
    """Skip a test where this program is not installed."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")
