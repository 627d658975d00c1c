"""Ten minutes of streaming at full speed on a real terminal: memory stays flat, keys are painted at once.

    python -m bench.chat.streaming --seconds 600

`toolwire chat` runs on a pseudo terminal of 120 × 40, and a provider on loopback sends it 500 deltas a second, and a
call each twenty seconds. Each half second a letter that nothing else writes is typed; it is painted when it comes back
from the terminal. Every five seconds the memory of the program is read. `--widgets` takes the conversation and a plain
input alone, told events by themselves.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.payloads import ROOT
from bench.report import Verdict, table

from .provider import Provider
from .subject import CHARACTERS

RATE = 500
TYPED = [chr(code) for code in range(0x0100, 0x0180)]
"""Letters that are in no text of the source."""
LATENCY = 0.050
GROWTH = 10.0
"""MB over the second half."""
_WARM_UP = 6.0
_KEY_EVERY, _LOOK_EVERY = 0.5, 5.0
_CLEAR = "\x15"


class Terminal:
    """The program on a terminal; `read` gives what it painted."""

    def __init__(self, command: list[str], width: int, height: int, home: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        places = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), home)
        terminal = {
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "TOOLWIRE_DISCOVER": "0",
            "TOOLWIRE_MAX_TURNS": "10000",
        }
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=home,
            env={**os.environ, **places, **terminal, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)

    def read(self, seconds: float) -> bytes:
        ready, _, _ = select.select([self.master], [], [], max(seconds, 0.0))
        return os.read(self.master, 1 << 16) if ready else b""

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def clear(self) -> None:
        """Empties the input, and waits: what is typed right behind the key would be cleared with it."""
        self.type(_CLEAR)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            self.read(0.1)

    def memory(self) -> float:
        """MB that it holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000

    def cpu(self) -> float:
        """Seconds that it computed."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def measure(terminal: Terminal, seconds: float) -> tuple[list[float], list[tuple[float, float]], float]:
    """How long each key took, the memory at each look, and the share of a processor that was used."""
    taken: list[float] = []
    memory: list[tuple[float, float]] = []
    try:
        began = time.monotonic()
        while time.monotonic() - began < _WARM_UP:
            terminal.read(0.1)
        began, cpu = time.monotonic(), terminal.cpu()
        next_key = next_look = 0.0
        number = 0
        while (now := time.monotonic() - began) < seconds:
            if now >= next_look:
                memory.append((now, terminal.memory()))
                next_look += _LOOK_EVERY
            if now >= next_key:
                next_key = now + _KEY_EVERY
                letter = TYPED[number % len(TYPED)]
                number += 1
                if not number % 60:
                    terminal.clear()
                taken.append(_painted(terminal, letter))
            terminal.read(min(next_key, next_look) - now)
        share = (terminal.cpu() - cpu) / (time.monotonic() - began)
        memory.append((now, terminal.memory()))
    finally:
        terminal.close()
    return taken, memory, share


def _painted(terminal: Terminal, letter: str) -> float:
    """Seconds from the key to the letter on the terminal; ten where it never came."""
    wanted, held = letter.encode(), b""
    typed = time.perf_counter()
    terminal.type(letter)
    while time.perf_counter() - typed < 10:
        held = held[-len(wanted) :] + terminal.read(0.5)
        if wanted in held:
            return time.perf_counter() - typed
    return 10.0


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    reader.add_argument("--seconds", type=float, default=600)
    reader.add_argument("--rate", type=int, default=RATE)
    reader.add_argument("--size", default="120x40")
    reader.add_argument("--widgets", action="store_true")
    given = reader.parse_args()
    width, height = map(int, given.size.split("x"))
    # All in one run: a call each twenty seconds, and the conversation with all of them grows.
    with TemporaryDirectory() as home, Provider(given.rate, CHARACTERS) as provider:
        chat = f"-m toolwire chat --model openai-compatible:busy --mode auto-edit --no-mcp --base-url {provider.url} Go"
        command = ["-m", "bench.chat.subject", str(given.rate)] if given.widgets else chat.split()
        taken, memory, share = measure(Terminal(command, width, height, home), given.seconds)
    ordered = sorted(taken)
    middle, high = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    half = [held for at, held in memory if at >= given.seconds / 2]
    growth = max(half) - half[0]
    rows = [[f"{at:.0f} s", f"{held:.1f} MB"] for at, held in memory[:: max(len(memory) // 20, 1)]]
    print(table(["after", "memory"], rows))
    slow = sorted(enumerate(taken), key=lambda each: each[1])[-5:]
    print("\nthe slowest keys:", ", ".join(f"{time * 1000:.0f} ms after {at * _KEY_EVERY:.0f} s" for at, time in slow))
    print(
        f"\n{len(taken)} keys: half within {middle * 1000:.1f} ms, 99 % within {high * 1000:.1f} ms, the slowest "
        f"{ordered[-1] * 1000:.1f} ms; {share:.0%} of a processor"
    )
    verdicts = [
        Verdict(f"99 % of the keys are painted within {LATENCY * 1000:.0f} ms", high <= LATENCY),
        Verdict(f"memory grows by less than {GROWTH:.0f} MB over the second half (grew {growth:.1f})", growth < GROWTH),
    ]
    for verdict in verdicts:
        print(f"{'holds' if verdict.holds else 'MISSED'}: {verdict.words}")
    return 0 if all(verdict.holds for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
