"""llama.cpp's Python package, xllamacpp: whether it is installed and loads, and the error if it does not.

It is loaded in a child process only, because native code may crash.
"""

from __future__ import annotations

import subprocess
import sys

from ..errors import LocalModelError, ToolwireError
from ..extras import MUSL_NOTE, is_installed, is_musl, missing_extra

_SECONDS = 60.0
_GOMP_HINT = "Install it: apt-get install libgomp1 (Debian, Ubuntu) or dnf install libgomp (Fedora, RHEL)."


def load_error() -> ToolwireError | None:
    """Why llama.cpp cannot be loaded here, or None if it can. Starts a child process."""
    if not is_installed("local"):
        return missing_extra("local", LocalModelError)
    program = (
        "try:\n    import xllamacpp\nexcept ImportError as error:\n    raise SystemExit(str(error) or 'ImportError')"
    )
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-c", program],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return import_failed(str(error))
    if child.returncode == 0:
        return None
    lines = child.stderr.strip().splitlines()
    return import_failed(lines[-1] if lines else f"the process ended with status {child.returncode}")


def import_failed(detail: str) -> LocalModelError:
    """The error for an import of xllamacpp that failed, from the loader's words."""
    if "libgomp" in detail:
        hint = f"{_GOMP_HINT} {MUSL_NOTE}" if is_musl() else _GOMP_HINT
        return LocalModelError(
            "the embedded model needs the system library libgomp.so.1, which is not installed", hint=hint
        )
    hint = MUSL_NOTE if is_musl() else "Reinstall it: pip install --force-reinstall xllamacpp. Or use another model."
    return LocalModelError(f"xllamacpp is installed but cannot be loaded: {detail}", hint=hint)
