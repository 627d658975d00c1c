"""The child process of `engine`: llama.cpp on a free loopback port, until the parent is gone.

Run as a script by the parent, with nothing of Toolwire imported. It reads one line from standard input, the token that
every request must carry, and after that only to learn that it has closed. It prints one JSON line on standard output,
either `{"base_url": ...}` when it is ready or `{"error": ...}`.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Load, serve, end with the parent."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--template", type=Path)
    options = parser.parse_args()

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = _private_stdout()
    _die_with_parent_thread(True)
    token = _read_token()
    threading.Thread(target=_watch_stdin, daemon=True).start()
    threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
    try:
        server = _serve(options, token)
    except ModuleNotFoundError as error:
        _say(answers, {"error": "missing", "detail": str(error)})
        sys.exit(1)
    except ImportError as error:
        _say(answers, {"error": "import", "detail": str(error)})
        sys.exit(1)
    except Exception as error:
        _say(answers, {"error": "failed", "detail": str(error)})
        sys.exit(1)
    _die_with_parent_thread(False)
    _say(answers, {"base_url": f"{server.listening_address}/v1"})
    threading.Event().wait()


def _serve(options: argparse.Namespace, token: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = options.context
    params.n_parallel = 1
    # On a few shared cores a second thread spins against the first and costs more than it brings.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    # Enough to keep the examples of a dozen tools evaluated.
    params.cache_ram_mib = 128
    params.verbosity = 1
    params.ui = False
    params.endpoint_slots = False
    # Only our parent may talk to the server: no web page, no other user of the machine, no command of a model.
    params.api_keys = [token]
    params.cors_origins = ""
    if options.template is not None:
        params.chat_template = options.template.read_text(encoding="utf-8")
    return xllamacpp.Server(params)


def _private_stdout() -> TextIO:
    """Standard output for our one line; whatever llama.cpp prints there goes to the log instead."""
    private = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return private


def _say(answers: TextIO, message: dict[str, str]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _read_token() -> str:
    """The first line of standard input: unlike an argument or a variable, no other process can look it up."""
    line = b""
    while not line.endswith(b"\n"):
        come = os.read(0, 1)
        if not come:
            os._exit(0)
        line += come
    return line.decode("ascii").strip()


def _watch_stdin() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def _watch_parent(parent: int) -> None:
    """A copy of our input's other end may live on in a process forked from the parent; then only this notices."""
    while os.name == "nt" or os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def _die_with_parent_thread(on: bool) -> None:
    """Linux: be killed when the thread that started us ends.

    Needed while the model loads, because loading holds the interpreter's lock and the watchers cannot run; not wanted
    after, because a thread may end in a living parent.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL if on else 0)


if __name__ == "__main__":
    main()
