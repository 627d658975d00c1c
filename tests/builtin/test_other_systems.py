"""Where there is no Linux the tools are there all the same, and say what they cannot do."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import asyncio, ctypes, shutil, sys, types
import aiohttp, cyclopts, msgspec, pydantic.fields, re2, rich.console
import toolwire
import toolwire.cli.app

@toolwire.tool
def sample(a: int) -> int:
    "Nothing."
    return a

asyncio.run(asyncio.sleep(0))
loaded = set(sys.modules)
sys.platform = PLATFORM
for name in ("resource", "fcntl", "termios", "pwd", "grp") if PLATFORM == "win32" else ():
    sys.modules[name] = None

def none(*_: object, **__: object) -> None:
    raise TypeError("there is no such library")

ctypes.CDLL = none
# Since Python 3.12, `shutil.which` asks the system on Windows.
shutil._winapi = types.SimpleNamespace(NeedCurrentDirectoryForExePath=bool)
tools = {tool.name: tool for tool in toolwire.builtin_tools()}
print(tools["run_bash"].asks)
import toolwire.cli.run, toolwire.cli.sandbox, toolwire.cli.undo
"""


def test_the_tools_load_and_commands_are_asked_about() -> None:
    for platform in ("win32", "darwin"):
        script = SCRIPT.replace("PLATFORM", repr(platform))
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert ran.stdout.startswith("commands are not confined here: this system is not Linux"), ran.stderr
        assert ran.returncode == 0, ran.stderr
