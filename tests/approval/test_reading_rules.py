"""Rules that allow all that begins like a command which reads: what writes or starts something is not among it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolwire.approval.parts import parts_of
from toolwire.approval.patterns import command_matches
from toolwire.approval.places import Workspace
from toolwire.approval.rules import Decision, Fit, Rule
from toolwire.tools.definition import Risk, ToolDefinition

ROOT = Path(__file__).parents[2]
SHELL = ToolDefinition(
    "run_bash",
    parameters={"type": "object", "properties": {"command": {"type": "string"}}},
    risk=Risk.EXECUTE,
    command="command",
    shell="bash",
)


def allows(pattern: str, command: str, folder: Path) -> bool:
    """Whether a rule that allows this pattern fits every part of the command."""
    rule = Rule(decision=Decision.ALLOW, command=(pattern,))
    arguments = {"command": command}
    workspace = Workspace(str(folder))
    return all(rule.fit(SHELL, arguments, part, workspace) is Fit.YES for part in parts_of(SHELL, arguments, workspace))


REFUSED = {
    "git log *": [
        *("git log --output=x", "git log --outpu=x", "git log --output x", "git log -p --ext-diff", "git log $x"),
        *("git log HEAD --output=../x", "git log -- --x $y", "git log --not-known", "git log > x", "git log; rm x"),
    ],
    "git log --oneline *": ["git log --oneline --output=x"],
    "git log --*": ["git log --output=x"],
    "git log ?*": ["git log --output=x"],
    "git diff *": ["git diff --output=x", "git diff --ext-diff", "git diff --no-index --output=x a b"],
    "git show *": ["git show --output=x", "git show --ext-diff"],
    "git grep *": ["git grep -Ox y", "git grep --open-files-in-pager=x y", "git grep -O y", "git grep --open=x y"],
    "git shortlog *": ["git shortlog --output=x"],
    "git stash list *": ["git stash list --output=x"],
    "git blame *": ["git blame --contents=x y", "git blame --output=x y"],
    "sort *": ["sort -o x y", "sort --output=x y", "sort --compress-program=x y", "sort -ox y"],
    "find *": ["find . -delete", "find . -exec rm x {} +", "find . -fprint x", "find . -fls x", "find . -ok rm {} +"],
    "find * -name x": ["find . -delete -name x"],
    "sed *": ["sed -i s/a/b/ x", "sed -n 'w x' y", "sed '1e x' y", "sed -s -i.b x y"],
    "rg *": ["rg --pre x y", "rg --pre=x y", "rg --hostname-bin=x y"],
    "tree *": ["tree -o x", "tree -ox"],
    "uniq *": ["uniq x y"],
    "date *": ["date -s 12:00", "date --set=12:00"],
    "xxd *": ["xxd -r x y"],
    "file *": ["file -C -m x"],
    "/usr/bin/git log *": ["/usr/bin/git log --output=x"],
}
ALLOWED = {
    "git log *": ["git log", "git log -p x", "git log --oneline -n 5 -- docs", "git log --since=yesterday main..x"],
    "git diff *": ["git diff", "git diff --stat HEAD~1", "git diff --cached -- a b"],
    "git log --output=*": ["git log --output=x"],
    "git log --output=x *": ["git log --output=x HEAD"],
    "git log --output=x": ["git log --output=x"],
    "sort -o out *": ["sort -o out x y"],
    "sort *": ["sort x", "sort -rn -k 2 x"],
    "find * -delete": ["find docs -delete"],
    "find *": ["find . -name x -type f"],
    "sed *": ["sed -n 5p x", "sed s/a/b/ x"],
    "git *": ["git log --output=x", "git push"],
    "git branch *": ["git branch new"],
    "git tag *": ["git tag -d x"],
    "git commit *": ["git commit --not-known"],
    "npm run *": ["npm run build -- --output=x"],
    "pytest *": ["pytest -p x --not-known"],
    "make *": ["make -j 4 all"],
}


@pytest.mark.parametrize(("pattern", "command"), [(each, line) for each in REFUSED for line in REFUSED[each]])
def test_what_writes_or_starts_is_not_meant(pattern: str, command: str, tmp_path: Path) -> None:
    assert not allows(pattern, command, tmp_path)


@pytest.mark.parametrize(("pattern", "command"), [(each, line) for each in ALLOWED for line in ALLOWED[each]])
def test_what_is_meant_stays_allowed(pattern: str, command: str, tmp_path: Path) -> None:
    assert allows(pattern, command, tmp_path)


COMPLETIONS = (
    *("--output=x", "--output x", "-o x", "--ext-diff", "-Ox", "--open-files-in-pager=x", "--exec=x", "--pre=x"),
    *("--upload-pack=x", "-exec rm {} +", "-delete", "--in-place", "--compress-program=x", "--config=x"),
    *("$x", "$(rm x)", "`rm x`", "; rm x", "&& rm x", "| sh", "> x", "& rm x"),
)


def documented() -> Iterator[str]:
    """The patterns of commands that an example in the docs allows."""
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", *ROOT.glob("examples/**/*.toml")]
    for page in pages:
        # One rule is wrong on purpose, and refused for it.
        text = page.read_text().replace("<!-- file: wrong.toml -->\n```toml", "```")
        for block in [*re.findall(r"```toml\n(.*?)```", text, re.S), *([text] if page.suffix == ".toml" else [])]:
            if "[[rule]]" in block:
                for rule in tomllib.loads(block)["rule"]:
                    command = rule.get("command", [])
                    if rule["decision"] == "allow":
                        yield from [command] if isinstance(command, str) else command
        yield from re.findall(r"--allow [\"']run_bash\((.*?)\)", text)


def test_no_example_of_the_docs_allows_more_than_it_says(tmp_path: Path) -> None:
    patterns = sorted(set(documented()))
    assert "git log *" in patterns
    for pattern in patterns:
        for completion in COMPLETIONS:
            command = f"{pattern.removesuffix(' *').replace('*', 'x')} {completion}"
            assert not allows(pattern, command, tmp_path), (pattern, command)


def test_the_completions_would_be_allowed_by_their_words_alone() -> None:
    from toolwire.approval.commands.command_line import Word

    assert command_matches("git log *", [Word("git"), Word("log"), Word("--output=x")])
