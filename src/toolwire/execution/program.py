"""A program that is to be started: what was asked for, checked, and what to say when it cannot be."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProgramError
from .environment import CALL_MARK


@dataclass(frozen=True)
class Program:
    """One start of one program. `call` marks all its processes by their environment."""

    argv: list[str]
    cwd: str
    environment: dict[str, str]
    input: bytes
    call: str

    @classmethod
    def checked(cls, argv: Sequence[str], cwd: str | Path, environment: Mapping[str, str], input: bytes) -> Program:
        """The program, if these can be the words and variables of one at all."""
        if not argv or not argv[0]:
            raise ProgramError("there is no program to run", hint="Give its name as the first word.")
        for name in environment:
            if not name or "=" in name:
                raise ProgramError(
                    f"{_short(argv[0])} cannot be given a variable named {_short(name)}",
                    hint="The name of an environment variable is not empty and has no '='.",
                    program=argv[0],
                )
        call = secrets.token_hex(16)
        program = cls(list(argv), str(cwd), {**environment, CALL_MARK: call}, input, call)
        for text in (*program.argv, program.cwd, *program.environment, *program.environment.values()):
            try:
                encoded = os.fsencode(text)
            except UnicodeEncodeError:
                encoded = b"\0"
            if b"\0" in encoded:
                raise ProgramError(
                    f"{_short(argv[0])} cannot be given {_short(text)}",
                    hint="No argument, variable or folder can hold a NUL character or half of a surrogate pair.",
                    program=argv[0],
                )
        return program

    def paths(self) -> list[str]:
        """The files that the program's name can mean, in order, as a shell would look for them."""
        name = self.argv[0]
        if "/" in name:
            return [name]
        return [os.path.join(folder, name) for folder in self._folders().split(os.pathsep) if os.path.isabs(folder)]

    def refused(self, stage: str, number: int) -> ProgramError:
        """The error for what the system answered when it was started."""
        name, why = _short(self.argv[0]), os.strerror(number)
        words, hint = f"{name} could not be started: {why}", "Try again; the system may have been short of resources."
        if stage == "cwd":
            words = f"{name} cannot run in the folder {_short(self.cwd)}: {why}"
            hint = "Create the folder, or give another one."
        elif stage == "exec" and (
            number in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
            # A folder of PATH that may not be searched answers "Permission denied" for a program that is nowhere.
            or ("/" not in self.argv[0] and not any(map(os.path.exists, self.paths())))
        ):
            words = f"there is no program {name}"
            hint = f"Check its name, or install it; looked for in {self._folders()}."
            if "/" in self.argv[0]:
                hint = "Check the path; if the file is there, the interpreter in its first line is not."
        elif stage == "exec" and number == errno.EACCES:
            hint = "It is not executable: run it by its interpreter, or chmod +x it."
        elif stage == "exec" and number == errno.ENOEXEC:
            hint = "It is not a program for this machine, or a script without a '#!' line: run it by its interpreter."
        elif stage == "exec" and number == errno.E2BIG:
            hint = "The arguments are too long; give them as a file or as input."
        return ProgramError(words, hint=hint, program=self.argv[0], cwd=self.cwd, errno=number)

    def _folders(self) -> str:
        return self.environment.get("PATH", os.defpath)


def installed(name: str, search: str | None, outside_of: Iterable[str]) -> str:
    """The file of a program on a search path; empty where there is none outside of these folders, links followed.

    In a folder that one works in lies what came with a project, or what a model wrote.
    """
    folders = [folder.rstrip(os.sep) + os.sep for folder in outside_of]
    for folder in filter(os.path.isabs, (search or os.defpath).split(os.pathsep)):
        path = shutil.which(name, path=folder)
        if path and not any(form.startswith(each) for form in (path, os.path.realpath(path)) for each in folders):
            return path
    return ""


def working_folder() -> list[str]:
    """The folder that this process runs in, if it is still there."""
    try:
        return [os.getcwd()]
    except OSError:
        return []


def _short(text: str) -> str:
    return ascii(text) if len(text) <= 200 else f"{text[:200]!a}…"
