"""Marks for tests that need a program or a system library which a bare machine does not have."""

from __future__ import annotations

import ctypes
import shutil
import sys

import pytest


def needs(program: str) -> pytest.MarkDecorator:
    """Skip a test where this program is not installed."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


LACKS_ENGINE = "" if sys.platform != "linux" or _loads("libgomp.so.1") else "libgomp1 is not installed"
"""Why llama.cpp cannot be loaded; empty where it can."""

needs_engine = pytest.mark.skipif(bool(LACKS_ENGINE), reason=LACKS_ENGINE)
