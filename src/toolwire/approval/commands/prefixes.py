"""Commands of which a person may allow all that begin alike: `git add *`, `pytest *`.

Such a yes carries what does the same kind of thing and no more: operands, and the options that stand here. An option
that names a program, a plugin, a configuration or another place, or that takes something away for good, is not here,
nor is one that is merely not known: a command with it is asked about by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from .command_line import Word
from .options import Options, known_options, read_options

_RUST = (
    "-qvr -p: -j: --release --all --workspace --all-features --features: --all-targets --lib --bins --tests --examples "
    "--no-default-features --package: --bin: --test: --example: --locked --offline --quiet --verbose"
)
_LISTED = "-aqtf -n: --all --quiet --tail: --since: --until: --no-trunc --format: --filter: --timestamps"
_CLUSTER = "-fpA -n: -c: -l: --namespace: --follow --tail: --since: --container: --all-namespaces --previous"
_PREFIXES: dict[str, Options] = {
    name: known_options(table)
    for name, table in {
        "pytest": "-qvxslh -k: -m: -n: -r: --verbose --quiet --exitfirst --failed-first --ff --last-failed --lf --sw "
        "--maxfail: --tb: --durations: --collect-only --co --no-header --no-summary --color: --capture: --deselect: "
        "--strict-markers --stepwise --showlocals --cov? --no-cov",
        "mypy": "-v -p: -m: --strict --ignore-missing-imports --show-error-codes --no-error-summary --pretty "
        "--check-untyped-defs --no-incremental --follow-imports: --disable-error-code: --enable-error-code:",
        "black": "-qvS -l: -t: --check --diff --color --line-length: --quiet --verbose --fast --safe --target-version:",
        "isort": "-qvc -l: --check --check-only --diff --profile: --quiet",
        "flake8": "-qv --select: --ignore: --extend-ignore: --max-line-length: --exclude: --statistics --count",
        "pylint": "-E --errors-only --disable: --enable: --score:",
        "pyright": "--verbose --stats --warnings --outputjson",
        "eslint": "--fix --quiet --ext: --max-warnings: --color --no-color --no-warn-ignored",
        "prettier": "-wcl --write --check --list-different",
        "tsc": "-b -p@ --build --project@ --noEmit --pretty --incremental --strict --skipLibCheck",
        "mkdir": "-pv -m: --parents --verbose",
        "touch": "-acm -d: -t: --no-create",
        "git add": "-AuvnfN --all --update --verbose --dry-run --force --intent-to-add",
        "git commit": "-aqvs -m: -F@ --message: --file@ --all --amend --no-edit --quiet --signoff --allow-empty "
        "--fixup: --squash: --author: --date:",
        "git switch": "-qt -c: --quiet --create: --detach --track? --no-track",
        "git mv": "-vnk --verbose --dry-run",
        "git tag": "-ai -m: --annotate --message:",
        "git branch": "-arvq --all --remotes --verbose --track? --no-track --show-current",
        "git merge": "-qn -m: --ff --no-ff --ff-only --no-edit --squash --no-commit --abort --continue --stat",
        "git cherry-pick": "-xn -m: --no-commit --abort --continue --skip --mainline:",
        "git revert": "-n -m: --no-edit --no-commit --abort --continue --skip --mainline:",
        "git rebase": "-q --onto: --abort --continue --skip --autostash --no-autostash --autosquash",
        "git push": "-uqnv --set-upstream --tags --follow-tags --dry-run --quiet --verbose --porcelain",
        "cargo build": _RUST,
        "cargo check": _RUST,
        "cargo clippy": _RUST,
        "cargo test": _RUST + " --no-run --no-fail-fast --doc",
        "cargo bench": _RUST + " --no-run --no-fail-fast",
        "cargo doc": _RUST + " --no-deps --document-private-items",
        "cargo fmt": "-qv -p: --all --check --package:",
        "cargo tree": "-e: -i: -p: --depth: --edges: --invert: --duplicates",
        **dict.fromkeys(("go build", "go test", "go vet", "go fmt", "go list", "go doc"), "-v"),
        "ruff check": "-nq --fix --select: --ignore: --extend-select: --preview --show-fixes --statistics --diff "
        "--no-cache --unsafe-fixes --output-format: --no-fix",
        "ruff format": "-nq --check --diff --preview --no-cache --line-length:",
        **dict.fromkeys(("docker ps", "docker images", "docker logs", "docker inspect"), _LISTED),
        **dict.fromkeys(("podman ps", "podman images", "podman logs", "podman inspect"), _LISTED),
        **dict.fromkeys(("npm ls", "npm list"), "-agl --all --depth: --json --global --long --omit:"),
        **dict.fromkeys(("pip list", "pip show", "pip freeze", "pip check"), "-fv --format: --not-required --files"),
        **dict.fromkeys(
            ("uv sync", "uv lock", "uv tree"),
            "-qv --frozen --locked --all-extras --dev --no-dev --extra: --group: --all-groups --offline --depth:",
        ),
        "kubectl describe": _CLUSTER,
        "kubectl logs": _CLUSTER,
    }.items()
}


def carried_prefix(words: Sequence[Word]) -> int:
    """How many leading words the command may be allowed by, with what else stands in it now; 0 for none.

    A push belongs to its remote, which stands first.
    """
    texts = [word.text for word in words]
    count = next((count for count in (1, 2) if " ".join(texts[:count]) in _PREFIXES), 0)
    if not count or not all(word.is_literal for word in words):
        return 0
    read = read_options(words[count:], _PREFIXES[" ".join(texts[:count])])
    # `@x` is a file of options to many; `+x` and `:x` force and delete a branch; behind `--` options are another's.
    if read is None or any(word.text.startswith(("@", "+", ":", "-")) for word in read.operands):
        return 0
    if texts[:2] != ["git", "push"]:
        return count
    return 3 if len(texts) > 2 and texts[2].replace("-", "").replace("_", "").isalnum() and texts[2][0] != "-" else 0
