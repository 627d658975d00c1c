"""Programs that are known to read and do nothing else, with the options that leave it so.

A table of what is harmless, never of what harms: a program, an option or a form that is not here is one that is asked
about. Trusted is what the programs of that name on the search path do, and the user's own configuration of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from .command_line import Command, Word, WordKind
from .git import files_read_by_git, git_looks_below, only_reads_by_nature
from .options import Options, known_options, names, read_options
from .programs import program, sets_harmless
from .scripts import is_plain_jq, is_plain_sed
from .starters import is_transparent


class Reader(msgspec.Struct, frozen=True):
    """A program that reads. Its operands are files, but for the first `texts` of them."""

    options: Options
    texts: int = 0
    most: int = 1000
    """Operands that it may have: one more would be written to."""
    any_option: bool = False
    """None of its options does harm, also none that is not in the table: a file may be named like an option."""
    instead: frozenset[str] = frozenset()
    """Options that stand for the first text."""
    argument_files: bool = False
    """It takes `@x` for the options that stand in the file x."""
    below: frozenset[str] | None = None
    """Options with which it reads what lies below its folders, or below where it runs; None where it always does."""
    folders: bool = False
    """It reads what lies in a folder that it is given."""


_ALL = 1000
_NEVER: frozenset[str] = frozenset()


def _reader(
    table: str,
    texts: int = 0,
    *,
    most: int = _ALL,
    any_option: bool = False,
    instead: str = "",
    argument_files: bool = False,
    below: str | None = "",
    folders: bool = False,
) -> Reader:
    deep = None if below is None else frozenset(below.split())
    instead_of = frozenset(instead.split())
    return Reader(known_options(table), texts, most, any_option, instead_of, argument_files, deep, folders)


_SUMS = "-b -t -z --binary --text --tag --zero"
_GREP = (
    "-EFGPivwxycLlqsobHhnTZzaIrUu -A: -B: -C: -m: -e: -f@ -d: -D: -# --extended-regexp --fixed-strings --perl-regexp "
    "--basic-regexp --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color? "
    "--colour? --files-with-matches --files-without-match --max-count: --only-matching --quiet --silent --no-messages "
    "--byte-offset --with-filename --no-filename --line-number --initial-tab --null --after-context: "
    "--before-context: --context: --text --exclude: --exclude-dir: --include: --recursive --line-buffered "
    "--regexp: --file@ --binary-files: --null-data --label:"
)
_RG = (
    "-FPSUacHIilnNoqsuvwxph.0 -A: -B: -C: -e: -f@ -g: -j: -M: -m: -r: -t: -T: -d: --after-context: --before-context: "
    "--context: --regexp: --file@ --glob: --iglob: --type: --type-not: --max-count: --max-depth: --max-columns: "
    "--max-filesize: --threads: --replace: --color: --colors: --sort: --sortr: --files --files-with-matches "
    "--files-without-match --fixed-strings --ignore-case --smart-case --case-sensitive --line-number "
    "--no-line-number --count --count-matches --hidden --no-ignore --no-ignore-vcs --no-heading --heading --json "
    "--multiline --multiline-dotall --only-matching --pcre2 --pretty --quiet --stats --text --trim --type-list "
    "--unrestricted --vimgrep --with-filename --no-filename --word-regexp --line-regexp --invert-match --null "
    "--passthru --no-messages --no-config --debug --column --crlf --encoding:"
)
_LS = (
    "-aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ1 -I: -w: -T: --all --almost-all --author --block-size: --classify? --color? "
    "--directory --file-type --format: --full-time --group-directories-first --hide: --human-readable --ignore: "
    "--indicator-style: --inode --literal --no-group --numeric-uid-gid --quote-name --quoting-style: --recursive "
    "--reverse --size --sort: --time: --time-style: --width: --zero --hyperlink?"
)
_SORT = (
    "-bdfghiMnRrVcCmsuz -k: -t: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort "
    "--human-numeric-sort --month-sort --numeric-sort --random-sort --reverse --version-sort --check? --key: --merge "
    "--stable --field-separator: --unique --zero-terminated --sort: --debug"
)
_TREE = "-adfghiJnpqrstuUvxCDFNQSX -L: -I: -P: --gitignore --noreport --dirsfirst --prune --du --si --charset: --sort:"

READERS: dict[str, Reader] = {
    "ls": _reader(_LS, any_option=True),
    "dir": _reader(_LS, any_option=True),
    "cat": _reader(
        "-AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-tabs --show-nonprinting --squeeze-blank",
        any_option=True,
    ),
    "tac": _reader("-br -s: --before --separator:"),
    "rev": _reader(""),
    "head": _reader("-qvz -n: -c: -# --lines: --bytes: --quiet --silent --verbose", any_option=True),
    "tail": _reader("-qvzr -n: -c: -# --lines: --bytes: --quiet --silent --verbose"),
    "wc": _reader("-clLmw --bytes --chars --lines --max-line-length --words"),
    "nl": _reader("-p -b: -d: -f: -h: -i: -l: -n: -s: -v: -w: --body-numbering: --number-format: --number-width:"),
    "grep": _reader(_GREP, 1, instead="e f regexp file", below="r recursive d"),
    "egrep": _reader(_GREP, 1, instead="e f regexp file", below="r recursive d"),
    "fgrep": _reader(_GREP, 1, instead="e f regexp file", below="r recursive d"),
    "rg": _reader(_RG, 1, instead="e f regexp file files type-list", below=None),
    "ag": _reader(
        "-aciHlLnoQsSvw -A: -B: -C: -G: -m: --ignore: --hidden --nocolor --color --nogroup --group --noheading --count "
        "--files-with-matches --literal --ignore-case --smart-case --depth: --column --numbers --nonumbers",
        1,
        below=None,
    ),
    "fd": _reader(
        "-HIsiFag0puq1 -e: -E: -t: -d: -S: -j: -c: --hidden --no-ignore --case-sensitive --ignore-case --glob --regex "
        "--fixed-strings --absolute-path --full-path --print0 --max-depth: --min-depth: --exact-depth: "
        "--type: --extension: --exclude: --color: --size: --changed-within: --changed-before: --max-results:",
        1,
    ),
    "stat": _reader("-LftxsnlFqr -c: --format: --printf: --dereference --file-system --terse", any_option=True),
    "file": _reader("-bihkNnprsv0 -F: --brief --mime --mime-type --mime-encoding --extension --keep-going --print0"),
    "du": _reader(
        "-abchkmsxS0 -d: -B: -t: --all --apparent-size --bytes --total --human-readable --summarize "
        "--max-depth: --block-size: --exclude: --threshold: --si --separate-dirs --one-file-system --time?"
    ),
    "df": _reader("-ahHiklmPTtx -B: --human-readable --inodes --local --portability --print-type --total --si --all"),
    "tree": Reader(known_options(_TREE, attached=False), below=_NEVER),
    "sort": _reader(_SORT),
    "uniq": _reader(
        "-cdDiuz -f: -s: -w: --count --repeated --all-repeated? --ignore-case --unique --skip-fields: --skip-chars: "
        "--check-chars: --zero-terminated",
        most=1,
    ),
    "cut": _reader(
        "-nsz -b: -c: -d: -f: --bytes: --characters: --delimiter: --fields: --complement "
        "--only-delimited --output-delimiter: --zero-terminated"
    ),
    "tr": _reader("-cCdst --complement --delete --squeeze-repeats --truncate-set1", _ALL),
    "diff": _reader(
        "-qsuarwbBEZitTydpe -U: -C: -W: -x: -I: -# --brief --report-identical-files --unified? --context? --color? "
        "--recursive --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --text "
        "--side-by-side --width: --suppress-common-lines --exclude: --strip-trailing-cr --minimal --no-dereference "
        "--ignore-trailing-space --normal --show-c-function",
        folders=True,
    ),
    "cmp": _reader("-bls -i: -n: --print-bytes --verbose --quiet --silent --bytes: --ignore-initial:"),
    "comm": _reader("-123iz --check-order --nocheck-order --output-delimiter: --total --zero-terminated"),
    "join": _reader("-iz -a: -e: -o: -t: -v: -1: -2: -j: --header --ignore-case --check-order --nocheck-order"),
    "paste": _reader("-sz -d: --serial --delimiters: --zero-terminated"),
    "column": _reader("-txneJ -s: -o: -c: -N: -R: --table --separator: --output-separator: --json --columns:"),
    "fold": _reader("-bs -w: --bytes --spaces --width:"),
    "expand": _reader("-i -t: --initial --tabs:"),
    "unexpand": _reader("-a -t: --all --first-only --tabs:"),
    "strings": _reader(
        "-afow -n: -t: -e: -# --all --bytes: --radix: --encoding: --print-file-name", argument_files=True
    ),
    "od": _reader(
        "-abcdfilosxv -A: -j: -N: -S: -t: -w? --address-radix: --skip-bytes: --read-bytes: --format: "
        "--output-duplicates"
    ),
    "hexdump": _reader("-bCcdovx -n: -s: --canonical --length: --skip: --no-squeezing"),
    "base64": _reader("-diD -w: --decode --ignore-garbage --wrap:", most=1),
    "base32": _reader("-di -w: --decode --ignore-garbage --wrap:", most=1),
    "md5sum": _reader(_SUMS),
    "sha1sum": _reader(_SUMS),
    "sha224sum": _reader(_SUMS),
    "sha256sum": _reader(_SUMS),
    "sha384sum": _reader(_SUMS),
    "sha512sum": _reader(_SUMS),
    "b2sum": _reader(_SUMS),
    "shasum": _reader("-bt -a: --algorithm: --binary --text"),
    "cksum": _reader(""),
    "basename": _reader("-az -s: --multiple --suffix: --zero", any_option=True),
    "dirname": _reader("-z --zero", any_option=True),
    "realpath": _reader(
        "-eLmPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --strip "
        "--no-symlinks --zero --relative-to@ --relative-base@",
        any_option=True,
    ),
    "readlink": _reader(
        "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline", any_option=True
    ),
    "pwd": _reader("-LP --logical --physical", most=0),
    "cd": _reader("-LP", most=1),
    "whoami": _reader("", most=0),
    "id": _reader("-agGnruz --group --groups --name --real --user", 1, most=1),
    "groups": _reader("", 1, most=1),
    "hostname": _reader("-sfdiI --short --fqdn", most=0),
    "uname": _reader(
        "-asnrvmpio --all --kernel-name --nodename --kernel-release --machine --processor --operating-system", most=0
    ),
    "arch": _reader("", most=0),
    "nproc": _reader("--all --ignore:", most=0),
    "uptime": _reader("-ps --pretty --since", most=0),
    "free": _reader("-bkmghtwl --human --mega --giga --total --wide", most=0),
    "tty": _reader("-s", most=0),
    "cal": _reader("-13jmsy", _ALL),
    "which": _reader("-a --all", _ALL),
    "whereis": _reader("-bms", _ALL),
    "type": _reader("-afptP", _ALL),
    "true": _reader("", _ALL),
    "false": _reader("", _ALL),
    ":": _reader("", _ALL),
    "exit": _reader("", 1, most=1),
    "break": _reader("", 1, most=1),
    "continue": _reader("", 1, most=1),
    "sleep": _reader("", _ALL),
    "seq": _reader("-w -s: -f: --equal-width --separator: --format: -#", _ALL),
}

_VERSIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("python", "python2", "python3", "pip", "pip3"), ("--version", "-V")),
    **dict.fromkeys(("node", "npm", "ruby", "php", "perl", "gem"), ("--version", "-v")),
    **dict.fromkeys(
        names(
            "bash gcc g++ cc clang clang++ make cmake ninja docker podman kubectl jq curl wget rg fd tree tar ssh "
            "uv ruff mypy black gh helm terraform sqlite3 psql openssl"
        ),
        ("--version",),
    ),
    "java": ("--version", "-version"),
    "ssh": ("-V",),
}
"""What asks a program for its version. Not here: programs that a project's own files can replace or fetch anew."""


def files_read(command: Command) -> tuple[Word, ...] | None:
    """The words that name what it reads, if it is known to read and do nothing else; None if not.

    What it starts is judged by itself.
    """
    words = command.words[1:]
    if not command.name or not sets_harmless(command):
        return None
    if is_transparent(command):
        return ()
    if any(word.kind is WordKind.DYNAMIC for word in words):
        return None
    if len(words) == 1 and words[0].is_literal and words[0].text in _VERSIONS.get(command.name, ()):
        return ()
    files: tuple[Word, ...] | None = None
    if command.name in _SPECIAL:
        files = _SPECIAL[command.name](words)
    elif command.name in READERS:
        files = _files_of(READERS[command.name], words)
    return None if files is None or not all(map(_is_tame, files)) else files


def only_reads(words: Sequence[Word]) -> bool:
    """Whether who allows all that begins with these words means to allow reading: `git log`, `find`, `sort`."""
    if not words:
        return False
    if words[0].text == "git":
        return only_reads_by_nature(words[1:])
    return words[0].text in READERS or words[0].text in _SPECIAL


def looks_below(command: Command) -> bool:
    """Whether it may read everything below the folders that it is given, or below the one it runs in."""
    if files_read(command) is None or searches(command):
        return True
    return command.name in READERS and READERS[command.name].folders


def searches(command: Command) -> bool:
    """Whether it may read everything below the folder that it runs in, though no word names that.

    This is not known of programs that are not in the table: whoever allows `npm test` trusts it that far.
    """
    words = program(command)
    if not words or not words[0].is_literal:
        return False
    name, rest = words[0].text, words[1:]
    if name == "git":
        return git_looks_below(rest)
    reader = READERS.get(name)
    if reader is None or reader.below == _NEVER:
        return name in _SEARCHERS
    read = read_options(rest, reader.options)
    return reader.below is None or read is None or read.loose or not reader.below.isdisjoint(read.used)


_SEARCHERS = names("ack pt rgrep sift ugrep")
"""Programs that search by themselves, and are not known to do nothing else."""


def is_meant_by_name(command: Command) -> bool:
    """Whether its name says what it does, as that of `git` or `mkdir` and unlike that of a project's own tools."""
    return command.name in READERS or command.name in _SPECIAL or command.name in _SYSTEM or is_transparent(command)


_SYSTEM = names("chmod cp install ln mkdir mktemp mv rm rmdir tee touch")
"""Programs of every system that do more than read."""


def _is_tame(word: Word) -> bool:
    """Whether a pattern matches nothing above its own folder: no `..`, no `.*`, no alternatives that are paths."""
    if word.kind is not WordKind.PATTERN:
        return True
    if any(char in word.text for char in "{}()\\'\"$`"):
        return False
    parts = word.text.split("/")
    return ".." not in parts and not any(part.startswith(".") and any(c in part for c in "*?[") for part in parts)


def _files_of(reader: Reader, words: Sequence[Word]) -> tuple[Word, ...] | None:
    # Where one operand more would be written to, an option behind the first is one more on some systems.
    read = read_options(words, reader.options, first_ends=reader.most < _ALL)
    if read is None or (read.loose and not reader.any_option) or len(read.operands) > reader.most:
        return None
    if reader.argument_files and any(word.text.startswith("@") for word in words):
        return None
    texts = 0 if not reader.instead.isdisjoint(read.used) else reader.texts
    fixed = read.operands if reader.most < _ALL else read.operands[:texts]
    if any(word.kind is WordKind.PATTERN for word in fixed):
        return None
    return (*read.files, *read.operands[texts:])


_FIND_TESTS = {
    0: "-print -print0 -ls -empty -prune -quit -true -false -readable -writable -executable -nouser -nogroup -depth -d "
    "-mount -xdev -daystart -noleaf -warn -nowarn -not -o -or -a -and ! ( ) ,",
    1: "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -perm -user -group -uid "
    "-gid -links -inum -mtime -ctime -atime -mmin -cmin -amin -maxdepth -mindepth -printf -newermt -newerct -regextype "
    "-fstype -lname -ilname -used",
}
_FIND = {name: count for count, names in _FIND_TESTS.items() for name in names.split()}
_FIND_FILES = names("-newer -anewer -cnewer -samefile")


def _find(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """Starting folders, then an expression of known tests: neither runs, deletes nor writes anything."""
    files: list[Word] = []
    place = 0
    while place < len(words):
        word = words[place]
        text = word.text
        if text in _FIND_FILES and place + 1 < len(words) and words[place + 1].kind is WordKind.LITERAL:
            files.append(words[place + 1])
            place += 2
        elif word.is_literal and text in _FIND:
            if any(not value.is_literal for value in words[place + 1 : place + 1 + _FIND[text]]):
                return None
            place += 1 + _FIND[text]
        elif word.is_literal and text in ("-H", "-P"):
            place += 1
        elif text[:1] in ("-", "(", "!", ",", "") or not (word.is_literal or word.home or text[:1].isalnum()):
            return None
        else:
            files.append(word)
            place += 1
    return tuple(files)


_SED = known_options("-nErsuz -e: --quiet --silent --regexp-extended --expression: --null-data --separate")


def _sed(words: Sequence[Word]) -> tuple[Word, ...] | None:
    read = read_options(words, _SED)
    if read is None or read.loose:
        return None
    scripts = [text for name, text in read.texts if name in ("e", "expression")]
    operands = read.operands
    if any(script in read.files for script in scripts):
        # One sed takes an operand before `-e` for a file, another for the script.
        return None
    if not scripts:
        scripts, operands = operands[:1], operands[1:]
    if not scripts or not all(script.is_literal and is_plain_sed(script.text) for script in scripts):
        return None
    return (*read.files, *operands)


_JQ = known_options(
    "-rcnsSeMCja --raw-output --compact-output --null-input --slurp --sort-keys --exit-status --monochrome-output "
    "--color-output --join-output --ascii-output --tab --raw-input -R"
)


def _jq(words: Sequence[Word]) -> tuple[Word, ...] | None:
    read = read_options(words, _JQ)
    if read is None or read.loose or not read.operands:
        return None
    script, *files = read.operands
    return tuple(files) if script.is_literal and is_plain_jq(script.text) else None


_XXD_FLAGS = names("-a -b -e -E -i -p -ps -plain -u -d")
_XXD_VALUES = names("-c -g -l -o -s")


def _xxd(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """Options one by one before the file, as it reads them; a second word behind them would be written to."""
    files: list[Word] = []
    place = 0
    while place < len(words):
        word = words[place]
        if word.kind is not WordKind.LITERAL or files:
            return None
        if word.text in _XXD_VALUES:
            if not words[place + 1 : place + 2] or not words[place + 1].text.isalnum():
                return None
            place += 1
        elif word.text.startswith("-") and word.text not in _XXD_FLAGS:
            return None
        elif not word.text.startswith("-"):
            files.append(word)
        place += 1
    return tuple(files)


_DATE = known_options("-uR -d: -I? -r@ --utc --universal --date: --iso-8601? --rfc-3339: --rfc-email --reference@")


def _date(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """An operand without `+` would set the clock."""
    read = read_options(words, _DATE)
    if read is None or read.loose or not all(word.is_literal and word.text[:1] == "+" for word in read.operands):
        return None
    return tuple(read.files)


def _echo(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """A pattern shows names."""
    return tuple(word for word in words if word.kind is WordKind.PATTERN)


def _printf(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """`-v` would set a variable, and a subscript in its name runs commands."""
    if not words or not all(word.is_literal for word in words) or words[0].text.startswith("-"):
        return None
    return ()


_TESTS = names("-e -f -d -r -w -x -s -z -n -L -h -S -p -b -c -g -k -u -O -G")
_COMPARISONS = names("= == != -eq -ne -lt -le -gt -ge -nt -ot -ef")


def _test(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """One test or one comparison; `-v` is none of them: a subscript in a variable's name runs commands."""
    if not all(word.is_literal or word.home for word in words):
        return None
    texts = [word.text for word in words]
    if texts[:1] == ["!"]:
        words, texts = words[1:], texts[1:]
    if len(texts) == 1 or (len(texts) == 2 and texts[0] in _TESTS) or (len(texts) == 3 and texts[1] in _COMPARISONS):
        return tuple(words)
    return None


def _bracket(words: Sequence[Word]) -> tuple[Word, ...] | None:
    return _test(words[:-1]) if words and words[-1].text == "]" else None


_SPECIAL: dict[str, Callable[[Sequence[Word]], tuple[Word, ...] | None]] = {
    "find": _find,
    "sed": _sed,
    "jq": _jq,
    "xxd": _xxd,
    "date": _date,
    "echo": _echo,
    "printf": _printf,
    "test": _test,
    "[": _bracket,
    "git": files_read_by_git,
}
