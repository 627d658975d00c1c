"""What is known of git: which of its commands only read, and which make it run something else.

Trusted is the user's own configuration of git. That of a repository can name programs too, which git runs to show a
difference, to watch files or to connect: `approval.repository` looks at it before a command is taken for a reader.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from ..contents import plain_content
from .command_line import Word, WordKind
from .options import Options, known_options, may_be_option, names, read_options

_PLAIN_GLOBALS = frozenset(("--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"))
GLOBAL_VALUES = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env"))
"""Options before the subcommand that take the next word."""

_PLAIN_SETTINGS = names(
    "user.name user.email color. core.quotepath core.autocrlf core.filemode core.longpaths advice. commit.gpgsign "
    "tag.gpgsign init.defaultbranch log.showsignature diff.renames diff.algorithm merge.conflictstyle pull.rebase "
    "pull.ff push.default rebase.autosquash rebase.autostash fetch.prune column. gc.auto safe.directory"
)
"""Settings for `-c` that make git run nothing. One with a dot at its end is a whole family."""

_COMMANDS = names(
    "add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore checkout cherry "
    "cherry-pick clean clone commit config count-objects describe diff diff-files diff-index diff-tree fetch "
    "for-each-ref format-patch fsck gc grep hash-object help init log ls-files ls-remote ls-tree maintenance merge "
    "merge-base merge-file merge-tree mv name-rev notes prune pull push range-diff read-tree rebase reflog remote "
    "repack replace rerere reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref "
    "sparse-checkout stash status submodule switch symbolic-ref tag update-index update-ref var verify-commit "
    "verify-tag version whatchanged worktree write-tree lfs"
)
"""Git's own commands. Any other may be an alias, and that may be any program."""

_STARTING = ("upload-pack", "receive-pack", "exec", "extcmd", "open-files-in-pager", "template", "config", "strategy")
"""Long options that name a program or a folder of hooks; any beginning of such a name is one too."""
_STARTING_SHORT = {"grep": "O", "clone": "uc", "rebase": "xs", "difftool": "x", "mergetool": "x", "ls-remote": "u"}
"""Short options that do."""
_STARTING_COMMANDS = names("archive clone fetch grep ls-remote pull push rebase submodule")
"""Commands that have such options: a word that is known only when it runs may be one."""


class _Form(msgspec.Struct, frozen=True):
    """A git command that reads, with its harmless options."""

    options: Options
    most: int = 1000
    texts: int = 0
    """Operands at the beginning that are no files, if no option `-e` stands for them."""
    listing: str = ""
    """The options one of which must be there for it to have operands."""
    below: bool = False
    """It shows what files of the repository hold that no word names."""
    plain: frozenset[str] = frozenset()
    """Options with which it does not: no others, and one of `chosen` if there are any."""
    chosen: frozenset[str] = frozenset()
    reads: tuple[Word, ...] = ()
    """Files that it reads beside those that are named."""


def _form(
    table: str,
    texts: int = 0,
    *,
    most: int = 1000,
    listing: str = "",
    below: bool = False,
    plain: str = "",
    chosen: str = "",
    reads: str = "",
) -> _Form:
    return _Form(
        known_options(table),
        most,
        texts,
        listing,
        below,
        _option_names(f"{plain} {chosen}"),
        _option_names(chosen),
        tuple(map(Word, reads.split())),
    )


def _option_names(table: str) -> frozenset[str]:
    options = known_options(table)
    return frozenset((*options.short, *options.long, *("#" * options.numbers)))


_DIFF = (
    "-pusawbRzMCBDt -U: -S: -G: -# --patch --no-patch --stat? --numstat --shortstat --dirstat? --summary --name-only "
    "--name-status --color? --no-color --color-words? --word-diff? --word-diff-regex: --unified: --minimal --patience "
    "--histogram --diff-algorithm: --raw --patch-with-stat --full-index --abbrev? --find-renames? --find-copies? "
    "--diff-filter: --ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-blank-lines "
    "--ignore-cr-at-eol --text --exit-code --quiet --check --relative? --no-prefix --no-ext-diff --no-textconv "
    "--no-renames --compact-summary --function-context -W --merge-base --pickaxe-all --pickaxe-regex --submodule?"
)
_STATS = (
    "-s --stat? --numstat --shortstat --dirstat? --summary --name-only --name-status --no-patch --raw --compact-summary"
)
"""What a difference is shown as, where it is names and numbers alone."""
_SHAPE = (
    "-zMC --color? --no-color --abbrev? --find-renames? --diff-filter: --relative? --no-renames --exit-code --quiet"
)
_COMMITS = (
    "-n: -# -g -i -E -F -P --oneline --graph --all --decorate? --no-decorate --format: --pretty? "
    "--date: --since: --until: --after: --before: --author: --committer: --grep: --max-count: --skip: --merges "
    "--no-merges --first-parent --follow --reverse --branches? --tags? --remotes? --abbrev-commit --no-abbrev-commit "
    "--name-rev --topo-order --date-order --author-date-order --full-history --simplify-merges --left-right "
    "--cherry-pick --cherry-mark --cherry --boundary --show-signature --walk-reflogs --regexp-ignore-case "
    "--all-match --invert-grep --source --parents --children --no-walk? --ancestry-path --simplify-by-decoration "
    "--relative-date --show-notes? --no-notes --count --not --objects --glob: --exclude:"
)
_LOG = f"{_DIFF} {_COMMITS} -L: -c -m --cc --full-diff"
_PLAIN_LOG = f"{_COMMITS} {_STATS} {_SHAPE}"
_STATUS = (
    "-sbz -u? --short --branch --porcelain? --long --untracked-files? --ignored? --show-stash --ahead-behind "
    "--no-ahead-behind --renames --no-renames --column? --no-column --ignore-submodules?"
)
_SUMMED_UP = "-s -e --summary --email --numbered --group:"
FORMS: dict[str, _Form] = {
    "status": _form(f"{_STATUS} -v --verbose", below=True, plain=_STATUS),
    "log": _form(_LOG, below=True, plain=_PLAIN_LOG),
    "whatchanged": _form(_LOG, below=True, plain=_PLAIN_LOG),
    "show": _form(_LOG, below=True),
    "rev-list": _form(_LOG, below=True, plain=_COMMITS),
    "shortlog": _form(f"{_LOG} {_SUMMED_UP}", below=True, plain=f"{_COMMITS} {_SUMMED_UP}"),
    "diff": _form(
        f"{_DIFF} --cached --staged --no-index --cc --base --ours --theirs",
        below=True,
        plain=f"{_SHAPE} --cached --staged",
        chosen=_STATS,
    ),
    "diff-tree": _form(
        f"{_DIFF} -r --root --no-commit-id", below=True, plain=f"{_SHAPE} -r --root --no-commit-id", chosen=_STATS
    ),
    "diff-index": _form(f"{_DIFF} --cached", below=True, plain=f"{_SHAPE} --cached", chosen=_STATS),
    "diff-files": _form(_DIFF, below=True, plain=_SHAPE, chosen=_STATS),
    "stash list": _form(_LOG, below=True, plain=_PLAIN_LOG),
    "stash show": _form(f"{_DIFF} --include-untracked --only-untracked", below=True, plain=_SHAPE, chosen=_STATS),
    "branch": _form(
        "-arvil --list --all --remotes --verbose --show-current --contains: --no-contains: --merged? --no-merged? "
        "--sort: --format: --points-at: --color? --no-color --column? --no-column --abbrev: --no-abbrev --ignore-case",
        listing="list",
    ),
    "tag": _form(
        "-li -n? --list --sort: --contains: --no-contains: --merged? --no-merged? --points-at: --format: --column? "
        "--color? --ignore-case",
        listing="l list",
    ),
    "remote": _form("-v --verbose", most=0, reads=".git/config"),
    "remote get-url": _form("--push --all", reads=".git/config"),
    "worktree list": _form("-v -z --porcelain --verbose", most=0),
    "reflog": _form(_LOG, most=0, below=True, plain=_PLAIN_LOG),
    "reflog show": _form(_LOG, below=True, plain=_PLAIN_LOG),
    "rev-parse": _form(
        "--abbrev-ref? --short? --verify -q --quiet --show-toplevel --show-prefix --show-cdup --git-dir "
        "--absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository "
        "--is-shallow-repository --symbolic --symbolic-full-name --show-superproject-working-tree --all --branches? "
        "--tags? --remotes? --show-object-format --local-env-vars"
    ),
    "ls-files": _form(
        "-cdmosiktuvz -x: --cached --deleted --modified --others --ignored --stage --unmerged --killed --exclude: "
        "--exclude-standard --error-unmatch --full-name --directory --no-empty-directory --eol --deduplicate --abbrev?"
    ),
    "ls-tree": _form(
        "-rdtlz --name-only --name-status --full-name --full-tree --long --object-only --abbrev? --format:"
    ),
    "blame": _form(
        "-bcefklnpstwMC -L: --root --show-stats --porcelain --line-porcelain --date: --show-name --show-number "
        "--show-email --abbrev: --since: --first-parent"
    ),
    "grep": _form(
        "-EFGPIilnwcqvhHzLopWar -A: -B: -C: -e: -m: -# --extended-regexp --fixed-strings --perl-regexp --ignore-case "
        "--line-number --word-regexp --count --quiet --invert-match --name-only --files-with-matches --cached "
        "--untracked --no-index --exclude-standard --show-function --function-context --heading --break --color? "
        "--no-color --only-matching --and --or --not --all-match --max-depth: --column --text --recursive "
        "--after-context: --before-context: --context: --null",
        1,
        below=True,
    ),
    "describe": _form(
        "--tags --all --always --long --dirty? --broken? --abbrev: --exact-match --match: --exclude: --contains "
        "--first-parent --candidates:"
    ),
    "merge-base": _form("-a --all --is-ancestor --octopus --independent --fork-point"),
    "name-rev": _form("--tags --name-only --all --always --refs: --no-undefined"),
    "cat-file": _form("-tspe --batch-check?", below=True, chosen="-tse --batch-check?"),
    "show-ref": _form("-dqs --head --heads --tags --verify --hash? --abbrev? --dereference --quiet"),
    "for-each-ref": _form("--format: --sort: --count: --merged? --no-merged? --contains: --points-at: --ignore-case"),
    "symbolic-ref": _form("-q --quiet --short", most=1),
    "count-objects": _form("-vH --verbose --human-readable", most=0),
    "check-ignore": _form(
        "-qvnz --quiet --verbose --non-matching --no-index", below=True, plain="-qz --quiet --no-index"
    ),
    "check-attr": _form("-az --all --cached", below=True),
    "cherry": _form("-v --abbrev?"),
    "config": _form(
        "--get --get-all --local --show-origin --show-scope --type: --bool --int",
        listing="get get-all",
        reads=".git/config",
    ),
    "version": _form("--build-options", most=0),
}
_TWO_WORDS = frozenset(name.split()[0] for name in FORMS if " " in name)


PLAIN_SUBMODULES = frozenset(("short", "log"))
"""Ways to show that a submodule was changed. Any other starts git in the submodule, where its configuration holds, and
that may be one that only the history knows of."""


def files_read_by_git(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """The words that may name files, if the git command with these words only reads; else None."""
    if [word.text for word in words] in (["--version"], ["-v"]) and words[0].is_literal:
        return ()
    found = _form_of(words)
    if found is None:
        return None
    form, rest = found
    read = read_options(rest, form.options)
    if read is None or read.loose or len(read.operands) > form.most:
        return None
    if any(name == "submodule" and text.text not in PLAIN_SUBMODULES for name, text in read.texts):
        return None
    if form.listing and read.operands and set(form.listing.split()).isdisjoint(read.used):
        return None
    if form.most < 1000 and any(word.kind is WordKind.PATTERN for word in read.operands):
        return None
    texts = 0 if "e" in read.used or any(word.kind is WordKind.PATTERN for word in read.operands) else form.texts
    files = read.operands[texts:]
    for word in read.operands[texts:]:
        # `HEAD:notes.txt`: what a file held.
        _, colon, inner = word.text.partition(":")
        if colon and inner:
            files.append(Word(inner, word.kind))
    return (*read.files, *files, *form.reads)


def only_reads_by_nature(words: Sequence[Word]) -> bool:
    """Whether a git command that begins with these words only reads, whatever its operands are."""
    found = _form_of(words)
    return found is not None and not found[0].listing and found[0].most >= 1000


def git_looks_below(words: Sequence[Word]) -> bool:
    """Whether a git command may show what files of the repository hold that no word of it names."""
    named = subcommand(words)
    if named is None or not named[0]:
        return named is None
    found = _form_of((Word(named[0]), *named[1]))
    if found is None:
        return not _is_silent(*named)
    form, rest = found
    if any("%(" in word.text and "raw" in word.text for word in rest):
        # What a reference is to, whole: it may be to a file.
        return True
    if not form.below:
        return False
    read = read_options(rest, form.options)
    if read is None or read.loose or not form.plain.issuperset(read.used):
        return True
    return bool(form.chosen and form.chosen.isdisjoint(read.used)) or not form.plain


_SILENT = dict.fromkeys(
    names(
        "apply branch cherry-pick clean clone config fetch fsck gc hash-object help init ls-remote maintenance merge "
        "mv prune pull push read-tree remote repack replace revert rm show-branch sparse-checkout submodule switch "
        "symbolic-ref tag update-index update-ref worktree"
    ),
    names(""),
)
"""Commands that do more than read and show nothing of what files hold, but with these options."""
_SILENT |= {
    "add": names("p patch i interactive e edit"),
    "commit": names("p patch interactive v verbose"),
    "rebase": names("show-current-patch"),
    **dict.fromkeys(("checkout", "reset", "restore", "stash"), names("p patch")),
}


def _is_silent(name: str, words: Sequence[Word]) -> bool:
    telling = _SILENT.get(name)
    if telling is None:
        return False
    for word in words:
        if not word.is_literal and may_be_option(word) and telling:
            return False
        if word.text.startswith("--"):
            name = word.text[2:].partition("=")[0]
            if name and any(option.startswith(name) for option in telling if len(option) > 1):
                return False
        elif word.text.startswith("-") and not telling.isdisjoint(word.text[1:]):
            return False
    return True


def _form_of(words: Sequence[Word]) -> tuple[_Form, Sequence[Word]] | None:
    place = 0
    while place < len(words) and words[place].is_literal and words[place].text in _PLAIN_GLOBALS:
        place += 1
    if place >= len(words) or not words[place].is_literal:
        return None
    name, rest = words[place].text, words[place + 1 :]
    if name in _TWO_WORDS and rest and rest[0].is_literal and f"{name} {rest[0].text}" in FORMS:
        return FORMS[f"{name} {rest[0].text}"], rest[1:]
    form = FORMS.get(name)
    return None if form is None else (form, rest)


def takes_for_repository(folder: str) -> bool:
    """Whether git, run in a folder, would take it or one above it for a bare repository.

    Such a one is of plain files, which come with any download and may be written by an edit, and its configuration
    names programs that git runs.
    """
    return any(os.path.lexists(os.path.join(each, "HEAD")) for each in _up_to_work_tree(folder)[0])


def work_tree(folder: str) -> str:
    """The folder of the repository that git, run in a folder, works in and shows all of; empty where there is none."""
    return _up_to_work_tree(folder)[1]


def _up_to_work_tree(folder: str) -> tuple[list[str], str]:
    """The folder and those above it that hold no repository, and the first that does."""
    found: list[str] = []
    while not _holds_repository(folder):
        found.append(folder)
        above = os.path.dirname(folder)
        if above == folder:
            return found, ""
        folder = above
    return found, folder


def _holds_repository(folder: str) -> bool:
    """Whether git goes no further: past a `.git` that is no repository it looks at the folder itself and above it."""
    git = os.path.join(folder, ".git")
    if os.path.isfile(git):
        return True
    # A linked head, and parts that lie elsewhere, count as none: git is stricter with them than this needs to be.
    head = os.path.join(git, "HEAD")
    content = None if os.path.islink(head) else plain_content(head, _MOST_HEAD)
    if content is None or not _is_head(content) or os.path.lexists(os.path.join(git, "commondir")):
        return False
    return all(os.access(os.path.join(git, part), os.X_OK) for part in ("objects", "refs"))


_MOST_HEAD = 1 << 12
_HEX = frozenset(b"0123456789abcdefABCDEF")


def _is_head(content: bytes) -> bool:
    """Whether it names a reference, or a commit."""
    named = content.removeprefix(b"ref:")
    if named != content:
        return named.lstrip(b" \t\r\n").startswith(b"refs/")
    return len(content) >= 40 and _HEX.issuperset(content[:40])


def without_folders(words: Sequence[Word]) -> tuple[list[Word], Sequence[Word]]:
    """Where `-C` and `--git-dir` lead git, one from the other, and the words of the command without them."""
    folders: list[Word] = []
    rest: list[Word] = []
    place = 0
    while place < len(words) and words[place].text.startswith("-"):
        word = words[place]
        name, equals, value = word.text.partition("=")
        count = 2 if word.text in GLOBAL_VALUES else 1
        if word.text in ("-C", "--git-dir"):
            folders += words[place + 1 : place + 2]
        elif name == "--git-dir" and equals:
            folders.append(Word(value, word.kind))
        else:
            rest += words[place : place + count]
        place += count
    return folders, (*rest, *words[place:])


def subcommand(words: Sequence[Word]) -> tuple[str, Sequence[Word]] | None:
    """The subcommand and what follows it, if nothing before it makes git run something else; else None."""
    place = 0
    while place < len(words) and words[place].text.startswith("-"):
        word = words[place]
        if not word.is_literal or word.text.startswith(("--exec-path", "--config-env")):
            return None
        if word.text == "-c":
            if place + 1 >= len(words) or not _is_plain_setting(words[place + 1]):
                return None
        elif word.text.startswith("-c") and not _is_plain_setting(Word(word.text[2:])):
            return None
        place += 2 if word.text in GLOBAL_VALUES else 1
    if place >= len(words):
        return "", ()
    return (words[place].text, words[place + 1 :]) if words[place].is_literal else None


def starts_unknown(name: str, words: Sequence[Word]) -> bool:
    """Whether a git command runs a program that is not its own: a name or an option that is not known says which."""
    if name not in _COMMANDS:
        return bool(name)
    for word in words:
        text = word.text
        if text == "--" and word.is_literal:
            return False
        if "ext::" in text or (name in _STARTING_COMMANDS and not word.is_literal and may_be_option(word)):
            return True
        if not word.is_literal or not text.startswith("-"):
            continue
        long = text[2:].partition("=")[0] if text.startswith("--") else ""
        if (
            long
            and any(option.startswith(long) and len(long) >= 2 for option in _STARTING)
            and not _is_known(name, long)
        ):
            return True
        if not long and any(char in _STARTING_SHORT.get(name, "") for char in text[1:]):
            return True
    return False


def _is_known(name: str, long: str) -> bool:
    return name in FORMS and long in FORMS[name].options.long


def _is_plain_setting(word: Word) -> bool:
    key = word.text.partition("=")[0].lower()
    return word.is_literal and any(
        key == name or (name[-1] == "." and key.startswith(name)) for name in _PLAIN_SETTINGS
    )
