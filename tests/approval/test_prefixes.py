"""What a yes to all commands that begin alike carries, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.trust.commands import SHELL, make_workspace, verdict

from toolwire.approval.memory import offers_of
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Mode, Policy
from toolwire.approval.rules import Decision, Rule, Where

CARRIED = [
    ("git add a.txt", ["git add b.txt", "git add -A", "git add -- src"]),
    ("git commit -m x", ["git commit -am 'fix: y'", "git commit --amend --no-edit"]),
    ("git push origin main", ["git push origin feature", "git push origin -u x"]),
    ("git switch main", ["git switch -c new"]),
    ("git branch new", ["git branch other main"]),
    ("git tag v1", ["git tag -a v2 -m x"]),
    ("git merge main", ["git merge --no-ff other"]),
    ("pytest -q", ["pytest -x -k name src", "pytest --tb=short src/a.py::test_x", "pytest"]),
    ("mypy src", ["mypy --strict src/a.py"]),
    ("ruff check src", ["ruff check --fix ."]),
    ("eslint src", ["eslint --fix src/a.js"]),
    ("cargo test", ["cargo test --release -p x name"]),
    ("go test ./...", ["go test -v ./src"]),
    ("mkdir x", ["mkdir -p y/z"]),
    ("docker logs x", ["docker logs --tail 5 y"]),
]
NOT_CARRIED = [
    ("git add a.txt", ["git add ../x", "git add $x", "git -c core.pager=x add a", "git add @x"]),
    ("git commit -m x", ["git commit --template=/etc/x", "git commit -n -m x", "git commit --gpg-sign=x -m y"]),
    (
        "git push origin main",
        [
            "git push other main",
            "git push origin +main",
            "git push origin :main",
            "git push -f origin main",
            "git push origin main --force",
            "git push origin --delete main",
            "git push origin --mirror",
            "git push origin --receive-pack=x main",
            "git push origin --exec=x",
        ],
    ),
    ("git switch main", ["git switch -f main", "git switch --discard-changes main", "git switch -C main x"]),
    ("git branch new", ["git branch -D new", "git branch -f main x", "git branch --edit-description"]),
    ("git tag v1", ["git tag -d v1", "git tag -f v1", "git tag -s v2", "git tag -u x v2"]),
    ("git merge main", ["git merge -s x main", "git merge --strategy=x main"]),
    (
        "git rebase main",
        ["git rebase --exec x main", "git rebase -x y main", "git rebase -i main", "git rebase -s x y"],
    ),
    ("git cherry-pick x", ["git cherry-pick --strategy=/../evil y"]),
    (
        "pytest -q",
        [
            "pytest -p evil",
            "pytest -pevil",
            "pytest -c x.ini",
            "pytest -o addopts=x",
            "pytest --rootdir=src",
            "pytest --rootdir src",
            "pytest --pdbcls=a:b",
            "pytest --basetemp=src",
            "pytest --pastebin=all",
            "pytest --confcutdir=x",
            "pytest -W error::evil.X",
            "pytest @args",
            "pytest /tmp/x.py",
        ],
    ),
    (
        "mypy src",
        ["mypy --python-executable=./x src", "mypy --config-file=x src", "mypy --install-types src", "mypy @x"],
    ),
    ("black src", ["black --config=x src", "black --config x src"]),
    ("pylint src", ["pylint --init-hook='import os' src", "pylint --load-plugins=x src", "pylint --rcfile=x src"]),
    ("flake8 src", ["flake8 --config=x src", "flake8 --output-file=x src"]),
    ("pyright", ["pyright --pythonpath ./x", "pyright -p x"]),
    ("eslint src", ["eslint -c x.js src", "eslint --rulesdir x src", "eslint --plugin x src", "eslint -f ./x src"]),
    ("prettier src", ["prettier --plugin=./x src", "prettier --config x src"]),
    ("tsc", ["tsc --outDir src", "tsc --outFile x", "tsc --init", "tsc @x"]),
    ("ruff check src", ["ruff check --config x src", "ruff check --output-file=x ."]),
    (
        "cargo test",
        ["cargo test --config x", "cargo test --target-dir x", "cargo test --manifest-path x", "cargo test -- -x"],
    ),
    ("cargo clippy", ["cargo clippy -- -Clinker=./x"]),
    ("go test ./...", ["go test -exec x", "go test -toolexec=x", "go test -o x ./...", "go test -overlay=x ./..."]),
    ("go vet ./...", ["go vet -vettool=x ./..."]),
    ("go build ./...", ["go build -toolexec x", "go build -modfile=x", "go build -ldflags=x", "go build -o a.txt"]),
    ("docker logs x", ["docker -H tcp://x logs y"]),
    ("npm ls", ["npm ls --registry=http://x", "npm ls --prefix src", "npm ls --script-shell=x"]),
    ("pip list", ["pip list --outdated --index-url=http://x", "pip list --python ./x"]),
    ("uv sync", ["uv sync --index-url http://x", "uv sync --python ./x", "uv sync --config-file x"]),
    ("kubectl logs x", ["kubectl logs --kubeconfig=x y", "kubectl logs -s http://x y", "kubectl --server=x logs y"]),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def widest(text: str, workspace: Workspace) -> Rule:
    """The last that is offered for a command: the prefix."""
    arguments = {"command": text}
    rule = offers_of(SHELL, arguments, Policy().judge_parts(SHELL, arguments, workspace), workspace)[-1].rule
    assert (rule.plain, rule.where, rule.command[0][-2:]) == (True, Where.INSIDE, " *")
    return rule


@pytest.mark.parametrize(("kept", "others"), CARRIED, ids=[kept for kept, _ in CARRIED])
def test_a_kept_prefix_carries_what_is_like_it(kept: str, others: list[str], workspace: Workspace) -> None:
    policy = Policy(Mode.ASK, [widest(kept, workspace)])
    assert [text for text in (kept, *others) if verdict(text, workspace, policy) is not Decision.ALLOW] == []


@pytest.mark.parametrize(("kept", "others"), NOT_CARRIED, ids=[kept for kept, _ in NOT_CARRIED])
def test_a_kept_prefix_carries_no_option_that_does_more(kept: str, others: list[str], workspace: Workspace) -> None:
    policy = Policy(Mode.ASK, [widest(kept, workspace)])
    assert verdict(kept, workspace, policy) is Decision.ALLOW
    assert [text for text in others if verdict(text, workspace, policy) is Decision.ALLOW] == []


@pytest.mark.parametrize(
    "text", ["git checkout main", "git restore a", "git stash", "npm view x", "make x", "npm test"]
)
def test_what_may_do_another_kind_of_thing_is_kept_by_its_exact_words_alone(text: str, workspace: Workspace) -> None:
    arguments = {"command": text}
    offers = offers_of(SHELL, arguments, Policy().judge_parts(SHELL, arguments, workspace), workspace)
    assert [offer.rule.command for offer in offers] == [(text,)]


def test_a_rule_that_a_person_wrote_means_what_it_says(workspace: Workspace) -> None:
    policy = Policy(Mode.ASK, [Rule(decision=Decision.ALLOW, command=("pytest *",))])
    assert verdict("pytest -p plugin", workspace, policy) is Decision.ALLOW
