"""What is known of programs: what they read, what they start, what may be kept of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bench.trust.commands import allowed_commands_change_nothing

from toolwire.approval.commands import expansion
from toolwire.approval.commands.command_line import Assignment, Command, Word, WordKind
from toolwire.approval.commands.dialects import Dialect
from toolwire.approval.commands.expansion import names_matching
from toolwire.approval.commands.programs import can_be_kept, kept_prefix, plain_words, program, sets_harmless
from toolwire.approval.commands.readers import files_read, looks_below
from toolwire.approval.commands.scripts import is_plain_sed
from toolwire.approval.commands.shell import read_command_line
from toolwire.approval.commands.starters import started_by


def command(text: str) -> Command:
    """The one command of a line."""
    line = read_command_line(text, Dialect.BASH)
    assert not line.problem, line.problem
    assert len(line.commands) == 1
    return line.commands[0]


def inner(text: str) -> list[str] | None:
    found = started_by(command(text))
    return None if found is None else [str(each) for each in found]


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("ls", []),
        ("ls -la src", ["src"]),
        ("cat -n -- -x", ["-x"]),
        ("cat -", ["-"]),
        ("cat *", ["*"]),
        ("sort src/*", ["src/*"]),
        ("sort -- -x *", ["-x", "*"]),
        ("grep -n /etc/x a b", ["a", "b"]),
        ("grep -e /etc/x a b", ["a", "b"]),
        ("grep -f /etc/x a", ["/etc/x", "a"]),
        ("grep -nf/etc/x a", ["/etc/x", "a"]),
        ("grep --file=/etc/x a", ["/etc/x", "a"]),
        ("grep a b -m 1", ["1", "b"]),
        ("rg --files src", ["src"]),
        ("rg -g '*.py' /x src", ["src"]),
        ("cut -d/ -f1 a", ["a"]),
        ("find src -name /x -newer /y", ["src", "/y"]),
        ("sed -n '/x/,/y/p' a", ["a"]),
        ("sed -e p -e d a", ["a"]),
        ("jq '.a/.b' a", ["a"]),
        ("date +/%d", []),
        ("date -r /x", ["/x"]),
        ("test -f /x", ["-f", "/x"]),
        ("[ ! -f /x ]", ["-f", "/x"]),
        ("echo /x", []),
        ("echo /x*", ["/x*"]),
        ("xxd -l 16 a", ["a"]),
        ("git show HEAD:/x", ["HEAD:/x", "/x"]),
        ("git grep /x -- src", ["src"]),
        ("git grep -e /x src", ["src"]),
        ("git log --grep=/x -- src", ["src"]),
        ("timeout 5 cat /x", []),
        ("bash -c 'cat /x'", []),
        ("command -v git", []),
    ],
)
def test_the_files_that_a_command_reads_are_known(text: str, files: list[str]) -> None:
    found = files_read(command(text))
    assert found is not None
    assert [word.text for word in found] == files


@pytest.mark.parametrize(
    "text",
    [
        "/bin/ls",
        "./ls",
        "LD_PRELOAD=x ls",
        "ls $x",
        "ls --colou",
        "sort -uo y x",
        "sort x -oy",
        "sort *",
        "uniq a b",
        "uniq a*",
        "grep a* b",
        "cat .*/x",
        "cat a*/../x",
        "cat {a,b}",
        "xxd -ps a b",
        "tree -Lo 1 y",
        "sed 'w y' -e p a",
        "bash -c ''",
        "xargs -a /x echo",
        "strings @x",
        "strings -n @x a",
        "pytest --version",
        "diff -N a b",
        "git",
        "git -C x log",
    ],
)
def test_every_other_form_is_not_known_to_read(text: str) -> None:
    assert files_read(command(text)) is None


def test_a_variable_that_changes_only_how_things_are_printed_is_harmless() -> None:
    assert sets_harmless(command("LC_ALL=C TZ=UTC sort x"))
    assert not sets_harmless(command("LC_ALL=C PATH=. sort x"))


@pytest.mark.parametrize(
    ("script", "plain"),
    [
        ("p", True),
        ("1,20p", True),
        ("10,20p;20q", True),
        ("$p", True),
        ("/a/,/b/p", True),
        ("/a/!d", True),
        ("/a\\/b/p", True),
        ("/[a-z]/p", True),
        ("1~2p", True),
        ("2,+3p", True),
        ("s/a/b/g", True),
        ("s|/a|/b|2p", True),
        ("s/a/b/;s/c/d/", True),
        ("", False),
        ("e", False),
        ("1e ls", False),
        ("w x", False),
        ("r x", False),
        ("s/a/b/e", False),
        ("s/a/b/w x", False),
        ("s/a/b", False),
        ("sxaxbx", False),
        ("/a/e", False),
        ("/[]/p;w x]/p", False),
        ("/[^]/p;w x]/p", False),
        ("/[/p", False),
        ("/[[:alpha:]]/p", True),
        ("s/[[:space:]]*$//", True),
        ("s/[^a-z]x[b]/y/", True),
        ("/\\[/p", True),
        ("/[[:alpha:]/p;s#]/w x#y#", False),
        ("/[^[=a=]/p;s#]/w x#y#", False),
        ("/[[:a]/p", False),
        ("/[[.a", False),
        ("/a\\/p", False),
        ("p\nw x", False),
        ("p;w x", False),
        ("p w x", False),
        ("{p}", False),
        ("y/a/b/", False),
        ("/\\c[/p", False),
        ("1,p", False),
    ],
)
def test_a_sed_script_is_plain_or_it_is_not(script: str, plain: bool) -> None:
    assert is_plain_sed(script) is plain


@pytest.mark.parametrize(
    ("text", "started"),
    [
        ("ls", []),
        ("python x.py", []),
        ("bash x.sh", []),
        ("make test", []),
        ("env A=1 B=2 rm x", ["rm x"]),
        ("env -u A rm x", ["rm x"]),
        ("sudo -u root rm x", ["rm x"]),
        ("timeout -k 1 5 rm x", ["rm x"]),
        ("nice -5 rm x", ["rm x"]),
        ("xargs rm", ["rm …"]),
        ("xargs -I{} mv {} x", ["mv {} x"]),
        ("xargs", ["echo …"]),
        ("xargs -I{} -n1 mv {} x", None),
        ("xargs -I{} --max-lines=1 mv {} x", None),
        ("xargs -IX -IY mv X Y", None),
        ("find . -exec rm {} + -exec ls {} \\;", ["rm {}", "ls {}"]),
        ("fd -x rm {}", ["rm {} …"]),
        ("sh -c 'ls; rm x'", ["ls", "rm x"]),
        ("bash -euo pipefail -c 'rm x' a b", ["rm x"]),
        ("/bin/sh -c 'rm x'", ["rm x"]),
        ("sh -c 'ls &>/dev/null x'", None),
        ("dash -c 'ls &>>/dev/null x'", None),
        ("sh -c 'ls; [[ a || b ]]'", None),
        ("bash -o keyword -c 'ls PATH=.'", None),
        ("ld-linux-aarch64.so.1 /bin/rm x", None),
        ("setarch x86_64 rm x", None),
        ("ssh -p 22 host rm x", ["rm x"]),
        ("watch -n 1 ls -l", ["ls -l"]),
        ("docker run --rm -v a:b image rm x", ["rm x"]),
        ("docker ps", []),
        ("kubectl exec pod -- rm x", ["rm x"]),
        ("uv run --with x pytest -q", ["pytest -q"]),
        ("git submodule foreach 'rm x'", ["rm x"]),
        ("git bisect run make test", ["make test"]),
        ("git -c user.name=x commit", []),
        ("busybox rm x", ["rm x"]),
        ("npx -y eslint .", ["eslint ."]),
        ("npm exec -- rm x", ["rm x"]),
        ("pnpm exec rm x", ["rm x"]),
        ("npm install x", []),
        ("npm --prefix src test", []),
        ("npm --prefix src exec rm", None),
        ("npx -c 'rm x'", None),
        ("npm exec -c 'rm x'", None),
        ("parallel rm", None),
        ("sh", None),
        ("sh -s", None),
        ("bash -c $x", None),
        ("bash +x -c ls", None),
        ("zsh -c ls", None),
        ("env -S 'rm x'", None),
        ("env - rm x", None),
        ("timeout $x rm", None),
        ("xargs -Z rm", None),
        ("find . -exec rm", None),
        ("find $x", None),
        ("ssh host", None),
        ("docker run --entrypoint sh image", None),
        ("docker compose -f x exec web sh", None),
        ("git -c core.pager=x log", None),
        ("git unknown", None),
        ("git fetch --upload-pa=x", None),
        ("git cherry-pick --strategy=/../x HEAD", None),
        ("git rebase -s /../x main", None),
        ("git diff --stat", []),
        ("git merge --stat x", []),
        ("git push $x", None),
        ("tar xIf x y", None),
        ("tar cf x *", None),
        ("tar cf x ./*", []),
        ("tar --file=x -c y", []),
        ("make SHELL=x", None),
        ("go test -exec x", None),
        ("go test -v ./...", []),
        ("sort -k1 --comp=x y", None),
        ("vim +10 x", []),
        ("vim +!ls x", None),
    ],
)
def test_what_a_command_starts_is_known_or_not(text: str, started: list[str] | None) -> None:
    assert inner(text) == started


def test_what_is_started_inherits_variables_and_folders() -> None:
    outer = Command(
        (Word("env"), Word("B=1"), Word("ls")),
        assignments=(Assignment("A", "1"),),
        folders=(Word("src"), Word("x", WordKind.DYNAMIC)),
    )
    found = started_by(outer)
    assert found is not None
    assert [(each.assignments, each.folders) for each in found] == [
        ((Assignment("A", "1"), Assignment("B", "1")), outer.folders)
    ]


@pytest.mark.parametrize(
    ("text", "names"), [("env -u A ls", ("A",)), ("env --unset=A B=1 ls", ("B", "A")), ("env -i ls", ("PATH",))]
)
def test_a_variable_that_is_taken_away_counts_as_set(text: str, names: tuple[str, ...]) -> None:
    found = started_by(command(text))
    assert found is not None
    assert [tuple(given.name for given in each.assignments) for each in found] == [names]


@pytest.mark.parametrize(
    ("text", "below"),
    [
        ("ls -R", False),
        ("cat a", False),
        ("find . -name x", False),
        ("git status", False),
        ("grep x a", False),
        ("timeout 5 make", False),
        ("grep -rn x", True),
        ("grep --recursive x", True),
        ("rg x", True),
        ("diff -r a b", True),
        ("git grep x", True),
        ("git diff", True),
        ("tar cf x .", True),
        ("unknown", True),
        ("cat $x", True),
    ],
)
def test_what_looks_below_its_folders(text: str, below: bool) -> None:
    assert looks_below(command(text)) is below


@pytest.mark.parametrize(
    ("text", "kept", "prefix"),
    [
        ("make test", True, 0),
        ("npm run build", True, 0),
        ("pytest -q", True, 1),
        ("git add a", True, 2),
        ("git commit -m x", True, 2),
        ("git checkout x", True, 0),
        ("pytest -p x", True, 0),
        ("git push", True, 0),
        ("git push origin main", True, 3),
        ("git push --force origin", True, 0),
        ("git push http://x/y main", True, 0),
        ("cargo test", True, 2),
        ("./run.sh", True, 0),
        ("uv run pytest", True, 0),
        ("CI=1 npm test", True, 0),
        ("dotnet build", True, 0),
        ("dotnet run", False, 0),
        ("rm a", True, 0),
        ("python x.py", False, 0),
        ("python3.12 x.py", False, 0),
        ("/usr/bin/make", False, 0),
        ("../run.sh", False, 0),
        ("node x.js", False, 0),
        ("bash x.sh", False, 0),
        ("env make", False, 0),
        ("sudo make", False, 0),
        ("xargs make", False, 0),
        ("find . -exec make {} +", False, 0),
        ("uv run python x.py", False, 0),
        ("npx x", False, 0),
        ("npm exec x", False, 0),
        ("vim x", False, 0),
        ("curl http://x", False, 0),
        ("ssh host ls", False, 0),
        ("docker run x", False, 0),
        ("git -C y config a b", False, 0),
        ("awk 1 x", False, 0),
        ("sed -i p x", False, 0),
        ("make $x", False, 0),
        ("make *", False, 0),
        ("pytest ~/x", False, 0),
        ("PATH=. make", False, 0),
        ("mkfs.ext4 x", False, 0),
    ],
)
def test_what_may_be_allowed_for_longer_than_once(text: str, kept: bool, prefix: int) -> None:
    assert (can_be_kept(command(text)), kept_prefix(command(text))) == (kept, prefix)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("/bin/rm -rf x", "rm x"),
        ("git -C x push origin", "git push origin"),
        ("git --no-pager -c a=b push -f", "git push -f"),
        ("docker -H x run y", "docker run y"),
        ("kubectl -n x delete pod", "kubectl delete pod"),
        ("cargo +nightly --config x publish", "cargo publish"),
        ("rm - x", "rm - x"),
    ],
)
def test_plain_words_are_without_options(text: str, plain: str) -> None:
    assert " ".join(word.text for word in plain_words(command(text))) == plain


def test_the_program_is_known_by_its_bare_name() -> None:
    assert [word.text for word in program(command("/usr/bin/rm -r x"))] == ["rm", "-r", "x"]
    assert program(command("$x y")) == command("$x y").words


def test_a_pattern_matches_at_least_what_the_shell_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ab", "ac", "b", "d/ab", "d/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    start = str(tmp_path)
    assert sorted(names_matching("a*", start) or ()) == [f"{start}/ab", f"{start}/ac"]
    assert sorted(names_matching("*/a[a-c]", start) or ()) == [f"{start}/d/ab"]
    assert sorted(names_matching(f"{start}/?", "/") or ()) == [f"{start}/b", f"{start}/d"]
    monkeypatch.setattr(expansion, "MAX_NAMES", 3)
    assert names_matching("d/*", start) == [f"{start}/d/{name}" for name in os.listdir(tmp_path / "d")]
    assert names_matching("*", start) is None


def test_what_is_allowed_changes_nothing_when_it_is_run() -> None:
    found = allowed_commands_change_nothing(250, 3)
    assert found.faults == []
    assert found.runs > 80
