"""Play a newcomer on a bare machine: a fresh clone, the README's two commands with and without a terminal, its code and
the examples.

Run it with any Python 3.11 to 3.14: `python3 scripts/newcomer.py FOLDER`. The clone goes to FOLDER/toolwire. On Debian
as root, the commands see only the essential packages, make and Python, and run as an ordinary user.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 1_800
"""The longest that one command may take, on a busy machine too."""
ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_=>78]|[()][A-Z0-9])")
NETWORK = ("_PROXY", "CERT_FILE", "CERT_DIR", "CA_BUNDLE", "PIP_CERT", "INDEX_URL")
"""Ends of the names of variables without which pip may not reach its index."""
PROMPT, ANSWER = "What is 12 * 7?", "12 * 7 = 84"
DEMO = ("convert_units", "42", "26.0976", "toolwire chat")
"""What the demo prints: the call, its argument, its result, and what to type for the chat."""
RECIPES = {'Agent("local"': "18", "stream.feed": "ToolInvocation"}
"""The README's programs that need no API key: words of the code, and what it must print."""
EXAMPLES = (
    ("approvals.py", "y\n", "Run it?"),
    ("chat_app.py", "What time is it in Tokyo?\n", "current_time {'timezone': 'Asia/Tokyo'}"),
    ("custom_tool.py", "", "in stock now"),
    ("durable_run.py", "", "Waiting for approval"),
    ("durable_run.py yes", "", "finished"),
    ("replay_test.py", "", "recorded in"),
    ("text_format_model.py", "", "68 °F"),
)
"""The examples that need only the embedded model: command line, what is typed, and what each must print. The tests run
all of them.
"""


def bare_path(folder: Path) -> Path:
    """A folder with links to the programs that every Debian system has, make and this Python, and nothing else."""
    folder.mkdir(parents=True)
    asked = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Essential} ${Package}\n"], capture_output=True, text=True, check=True
    )
    packages = [line.split()[1] for line in asked.stdout.splitlines() if line.startswith("yes ")]
    files = subprocess.run(["dpkg", "-L", *packages, "make"], capture_output=True, text=True, check=True).stdout
    programs = [Path(line) for line in files.splitlines() if Path(line).parent.name in ("bin", "sbin")]
    awk = shutil.which("awk")
    for program in [*programs, *([Path(awk)] if awk else [])]:
        link = folder / program.name
        if program.is_file() and not link.exists():
            link.symlink_to(program)
    (folder / "python3").symlink_to(Path(sys.executable).resolve())
    return folder


def bare_command(folder: Path) -> list[str]:
    """Words before a command that give it a bare machine; none where this one cannot pretend to be one."""
    if os.getuid() or not shutil.which("dpkg-query") or not shutil.which("unshare"):
        return []
    user = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    if subprocess.run([*user, "true"], capture_output=True).returncode:
        return []
    path, home = bare_path(folder / "bin"), folder / "home"
    home.mkdir()
    kept = ["TERM=xterm-256color"]
    kept += [f"{name}={value}" for name, value in os.environ.items() if name.upper().endswith(NETWORK)]
    return [*user, "env", "-i", f"PATH={path}", f"HOME={home}", *kept]


def run(words: str, command: list[str], *, expected: Iterable[str] = (), typed: str = "", cwd: Path = ROOT) -> None:
    """Run a command without a terminal, pass on what it prints, and fail where it fails or prints something else."""
    print(f"$ {words}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as keys:
        keys.write(typed)
        keys.seek(0)
        process = subprocess.Popen(
            command, stdin=keys, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd
        )
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        print(line, end="", flush=True)
        printed += line
    if process.wait():
        sys.exit(f"It exited with {process.returncode}.")
    print(f"({time.monotonic() - began:.0f} s)", flush=True)
    if missing := [word for word in expected if word not in printed]:
        sys.exit(f"It did not print {missing}.")


class Terminal:
    """A command at a terminal of its own, and everything that it has written so far."""

    def __init__(self, command: list[str]) -> None:
        self._process, self._fd = pty.fork()
        if not self._process:
            os.execvp(command[0], command)
        os.set_blocking(self._fd, False)
        termios.tcsetwinsize(self._fd, (30, 100))
        self._end = time.monotonic() + SECONDS
        self._written = b""

    def wait_for(self, words: str) -> None:
        """Read until these words are on the screen; from then on only what comes later counts."""
        while words not in self._text():
            if not self._read():
                self._fail(f"it ended before {words!r} was on the screen")
        self._written = b""

    def send(self, keys: str) -> None:
        """Type."""
        os.write(self._fd, keys.encode())

    def wait(self) -> None:
        """Read until it ends, and fail unless it ended well."""
        while self._read():
            pass
        _, status = os.waitpid(self._process, 0)
        if status:
            self._fail(f"it exited with {os.waitstatus_to_exitcode(status)}")

    def _text(self) -> str:
        return ESCAPES.sub(b"", self._written).decode(errors="replace")

    def _read(self) -> bool:
        left = self._end - time.monotonic()
        if left <= 0 or not select.select([self._fd], [], [], left)[0]:
            self._fail(f"it did nothing for {SECONDS} s")
        try:
            data = os.read(self._fd, 65_536)
        except OSError:
            return False
        self._written += data
        return bool(data)

    def _fail(self, words: str) -> None:
        sys.exit(f"At a terminal, {words}:\n{self._text()[-3_000:]}")


def chat(command: list[str]) -> None:
    """Open the chat, have a tool called, and leave."""
    print("$ make run    (at a terminal)", flush=True)
    began = time.monotonic()
    terminal = Terminal(command)
    terminal.wait_for("● ready")
    terminal.send(PROMPT)
    terminal.wait_for(PROMPT)
    terminal.send("\r")
    terminal.wait_for(ANSWER)
    terminal.wait_for("● ready")
    terminal.send("\x04")
    terminal.wait()
    print(f"({time.monotonic() - began:.0f} s)", flush=True)


def programs(python: list[str], clone: Path, folder: Path) -> None:
    """Run the README's code and the examples as they are, in an empty folder."""
    folder.mkdir()
    found = re.findall(r"^```python\n(.*?)^```", (clone / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    for words, printed in RECIPES.items():
        (code,) = [each for each in found if words in each]
        run(f"python    (the README's code with {words!r})", [*python, "-c", code], expected=[printed], cwd=folder)
    for line, typed, printed in EXAMPLES:
        name, *arguments = line.split()
        command = [*python, str(clone / "examples" / name), *arguments]
        run(f"python examples/{line}", command, expected=[printed], typed=typed, cwd=folder)


def main() -> None:
    """Do what the README says, in its order."""
    folder = Path(sys.argv[1]).resolve()
    clone = folder / "toolwire"
    os.environ["TERM"] = "xterm-256color"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    bare = bare_command(folder)
    make = [*bare, "make", "-C", str(clone), "--no-print-directory"]
    run("make test", [*make, "test"])
    run("make run </dev/null", [*make, "run"], expected=DEMO)
    chat([*make, "run"])
    programs([*bare, str(clone / ".venv" / "bin" / "python")], clone, folder / "project")


if __name__ == "__main__":
    main()
