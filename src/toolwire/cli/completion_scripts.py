"""Completion as scripts of bash, zsh and fish.

Everything that is the same on every machine stands in the script, so that Tab answers at once; only for sessions,
runs and MCP servers the command is asked. What it answers is compared and quoted, and never evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from .completion_names import COMMAND
from .completion_tree import FILES, FOLDERS, NAMED, Command, Tree

Shell = Literal["bash", "zsh", "fish"]


def script(shell: Shell, tree: Tree) -> str:
    """The script for a shell."""
    return _SCRIPTS[shell](tree)


def _bash(tree: Tree) -> str:
    return _filled(_BASH, _cases(tree, _bash_level), tree)


def _zsh(tree: Tree) -> str:
    return _filled(_ZSH, _cases(tree, _zsh_level), tree)


def _filled(frame: str, levels: list[str], tree: Tree) -> str:
    """A frame of bash or zsh, which share most of their syntax, with what there is in this version."""
    below = [f"{command.path}/{name}".lstrip("/") for command in tree.commands for name, _ in command.commands]
    takers = [f"{path} {name}" for path, name, _ in tree.kinds_of_options()]
    by_kind: dict[str, list[str]] = {}
    for path, name, kind in tree.kinds_of_options():
        if kind:
            by_kind.setdefault(kind, []).append(f"{path} {name}")
    for command in tree.commands:
        for place, kind in enumerate(command.places):
            last = command.many and place == len(command.places) - 1
            if kind:
                by_kind.setdefault(kind, []).append(f"{command.path} {'*' if last else place}")
    made = frame.replace("@COMMANDS@", _either(below)).replace("@TAKERS@", _either(takers))
    made = made.replace("@LEVELS@", "\n".join(levels))
    made = made.replace(
        "@KINDS@", "\n".join(f"        {_either(places)}) kind={_q(kind)} ;;" for kind, places in by_kind.items())
    )
    values = [f"        {_q(kind)}) list=({' '.join(map(_q, each))}) ;;" for kind, each in tree.values.items()]
    return made.replace("@VALUES@", "\n".join(values)).replace("@NAMED@", "|".join(NAMED)).replace("@ASK@", COMMAND)


def _cases(tree: Tree, level: Callable[[Command], str]) -> list[str]:
    return [f"        {_q(command.path)}) {level(command)} ;;" for command in tree.commands]


def _bash_level(command: Command) -> str:
    options = " ".join(_q(name) for option in command.options for name in option.names)
    commands = " ".join(_q(name) for name, _ in command.commands)
    return f"options=({options}) commands=({commands})"


def _zsh_level(command: Command) -> str:
    options = " ".join(_q(f"{name}:{option.words}") for option in command.options for name in option.names)
    commands = " ".join(_q(f"{name}:{words}") for name, words in command.commands)
    return f"options=({options}) commands=({commands})"


def _either(places: list[str]) -> str:
    """A pattern of `case`; a place that stands for all that follow ends in a star, for any number."""
    return "|".join(f"{_q(place[:-1])}[0-9]*" if place.endswith(" *") else _q(place) for place in places) or "''"


def _q(text: str) -> str:
    """A word that a shell takes as it is."""
    return "'" + text.replace("'", "'\\''") + "'"


_BASH = """\
# Completion of toolwire for bash, made by: toolwire completion bash
_toolwire() {
    local line=${COMP_LINE:0:COMP_POINT} cur word name at='' takes='' kind='' ended='' lead=''
    local -a words options commands list
    local -i i nth=0 last
    COMPREPLY=()
    read -r -a words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    last=$((${#words[@]} - 1))
    cur=${words[last]}
    for ((i = 1; i < last; i++)); do
        word=${words[i]}
        if [[ -n $takes ]]; then
            takes=''
            continue
        fi
        case $word in
        --) ended=1 && break ;;
        -*)
            case "$at $word" in
            @TAKERS@) takes=$word ;;
            esac
            ;;
        *)
            case "${at:+$at/}$word" in
            @COMMANDS@) at=${at:+$at/}$word ;;
            *) nth+=1 ;;
            esac
            ;;
        esac
    done
    case $at in
@LEVELS@
    esac
    name=$nth
    if [[ -n $takes ]]; then
        name=$takes
    elif [[ -z $ended && $cur == --*=* ]]; then
        name=${cur%%=*}
        cur=${cur#*=}
        # Where = parts words, only what stands behind it is replaced.
        [[ $COMP_WORDBREAKS == *=* ]] || lead=$name=
    elif [[ -z $ended && $cur == -* ]]; then
        list=("${options[@]}")
        name=''
    elif ((${#commands[@]})); then
        list=("${commands[@]}")
        name=''
    fi
    [[ -z $name ]] || case "$at $name" in
@KINDS@
    esac
    [[ -n $ended ]] && kind=files
    case $kind in
    files | folders)
        compopt -o filenames 2>/dev/null
        local action=-f
        [[ $kind == folders ]] && action=-d
        while IFS= read -r word; do
            COMPREPLY+=("$lead$word")
        done < <(compgen "$action" -- "$cur")
        return
        ;;
    @NAMED@)
        while IFS=$'\\t' read -r word _; do
            list+=("$word")
        done < <("${COMP_WORDS[0]}" @ASK@ "$kind" 2>/dev/null)
        ;;
@VALUES@
    esac
    # Where : parts words, what stands before it is not replaced either.
    local before=''
    [[ $COMP_WORDBREAKS == *:* && $cur == *:* ]] && before=${cur%:*}:
    for word in "${list[@]}"; do
        if [[ $word == "$cur"* ]]; then
            COMPREPLY+=("$lead${word#"$before"}")
        fi
    done
    # A provider of which the model is still to be named.
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -F _toolwire toolwire
"""

_ZSH = """\
#compdef toolwire
# Completion of toolwire for zsh, made by: toolwire completion zsh
_toolwire() {
    local cur word name at='' takes='' kind='' ended=''
    local -a options commands list
    integer i nth=0
    cur=${words[CURRENT]}
    for ((i = 2; i < CURRENT; i++)); do
        word=${words[i]}
        if [[ -n $takes ]]; then
            takes=''
            continue
        fi
        case $word in
        --) ended=1 && break ;;
        -*)
            case "$at $word" in
            @TAKERS@) takes=$word ;;
            esac
            ;;
        *)
            case "${at:+$at/}$word" in
            @COMMANDS@) at=${at:+$at/}$word ;;
            *) nth+=1 ;;
            esac
            ;;
        esac
    done
    case $at in
@LEVELS@
    esac
    name=$nth
    if [[ -n $takes ]]; then
        name=$takes
    elif [[ -z $ended && $cur == --*=* ]]; then
        name=${cur%%=*}
        compset -P '*='
    elif [[ -z $ended && $cur == -* ]]; then
        _describe -o option options
        return
    elif ((${#commands})); then
        _describe command commands
        return
    fi
    case "$at $name" in
@KINDS@
    esac
    [[ -n $ended ]] && kind=files
    case $kind in
    files)
        _files
        return
        ;;
    folders)
        _files -/
        return
        ;;
    @NAMED@)
        local -a shown
        while IFS=$'\\t' read -r word name; do
            list+=("$word")
            shown+=("$word${name:+  $name}")
        done < <("${words[1]}" @ASK@ "$kind" 2>/dev/null)
        compadd -l -d shown -a -- list
        return
        ;;
@VALUES@
    esac
    compadd -a -- list
}
if [[ ${funcstack[1]} == _toolwire ]]; then
    _toolwire "$@"
else
    compdef _toolwire toolwire
fi
"""


def _fish(tree: Tree) -> str:
    below = [f"{command.path}/{name}".lstrip("/") for command in tree.commands for name, _ in command.commands]
    takers = [f"{path} {name}" for path, name, _ in tree.kinds_of_options()]
    made = _FISH.replace("@COMMANDS@", " ".join(map(_fish_q, below)))
    made = made.replace("@TAKERS@", " ".join(map(_fish_q, takers)))
    return made + "\n".join(line for command in tree.commands for line in _fish_command(command, tree)) + "\n"


def _fish_command(command: Command, tree: Tree) -> Iterator[str]:
    at = f"complete -c toolwire -n {_fish_q(f'__toolwire_at {_fish_q(command.path)}')}"
    for name, words in command.commands:
        yield f"{at} -a {_fish_q(name)} -d {_fish_q(words)}"
    for option in command.options:
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
        value = f" {_fish_value(option.kind, tree)}" if option.takes_value else ""
        yield f"{at} {names}{value} -d {_fish_q(option.words)}"
    for place, kind in enumerate(command.places):
        last = command.many and place == len(command.places) - 1
        if kind:
            here = f"__toolwire_at {_fish_q(command.path)} {place}{' more' if last else ''}"
            yield f"complete -c toolwire -n {_fish_q(here)} {_fish_value(kind, tree).removeprefix('-r ')}"


def _fish_value(kind: str, tree: Tree) -> str:
    if kind == FILES:
        return "-r -F"
    if kind == FOLDERS:
        return "-r -f -a '(__fish_complete_directories)'"
    if kind in NAMED:
        return f"-r -f -a '(command toolwire {COMMAND} {kind} 2>/dev/null)'"
    return f"-r -f -a {_fish_q(' '.join(map(_fish_q, tree.values[kind])))}" if kind else "-r -f"


def _fish_q(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace("'", "\\'")
    return text if text and all(char.isalnum() or char in "-_/.:+" for char in text) else f"'{plain}'"


_FISH = """\
# Completion of toolwire for fish, made by: toolwire completion fish
set -g __toolwire_commands @COMMANDS@
set -g __toolwire_takers @TAKERS@
# Whether the words before the cursor lead to this command; with a number, whether that many of its places are taken.
function __toolwire_at
    set -l at ''
    set -l nth 0
    set -l takes ''
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if test -n "$takes"
            set takes ''
        else if test "$word" = --
            return 1
        else if string match -q -- '-*' $word
            contains -- "$at $word" $__toolwire_takers; and set takes $word
        else
            set -l next (string trim -l -c / -- "$at/$word")
            if contains -- $next $__toolwire_commands
                set at $next
            else
                set nth (math $nth + 1)
            end
        end
    end
    test "$at" = "$argv[1]"; or return 1
    set -q argv[2]; or return 0
    test $nth -eq $argv[2]; and return 0
    set -q argv[3]; and test $nth -gt $argv[2]
end
complete -c toolwire -f
"""

_SCRIPTS: dict[str, Callable[[Tree], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
