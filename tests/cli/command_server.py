"""Runs the command again and again without starting Python each time: loaded once, forked for each command line.

Started by `command.py`, a process without threads that ends when whoever started it does. For each command it is sent
over a socket what the new process is to have (arguments, environment, folder, standard streams), and answers with the
exit code.
"""

from __future__ import annotations

import array
import io
import json
import os
import runpy
import signal
import socket
import sys
from typing import Any

import toolwire.agent.loop
import toolwire.agent.sessions.store
import toolwire.approval.files
import toolwire.builtin.tools
import toolwire.cli.app
import toolwire.cli.run
import toolwire.providers.catalog  # noqa: F401

SECONDS = 60
"""What has not ended by then does so."""


def serve(connection: socket.socket) -> None:
    """Until whoever asks has gone."""
    while True:
        head, ancillary, _, _ = connection.recvmsg(1 << 20, socket.CMSG_SPACE(3 * 4))
        if not head:
            return
        streams = array.array("i", ancillary[0][2])
        child = os.fork()
        if child == 0:
            _become(connection, list(streams), json.loads(head))
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        connection.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())


def _become(connection: socket.socket, streams: list[int], asked: dict[str, Any]) -> None:
    """The command itself, as `python -m toolwire` would be it."""
    signal.alarm(SECONDS)
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 64)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w", closefd=False)), encoding="utf-8", write_through=True
    )
    sys.argv = ["toolwire", *(os.fsdecode(bytes.fromhex(word)) for word in asked["words"])]
    code: Any = 1
    try:
        runpy.run_module("toolwire", run_name="__main__", alter_sys=False)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    if os.fork():
        os._exit(0)  # so that it is no child of the tests, some of which look for children that were left
    serve(socket.socket(fileno=int(sys.argv[1])))
