#!/bin/sh
# Usage: make_venv.sh VENV [PYTHON]
#
# Make the virtual environment VENV with PYTHON (default: the first suitable Python on the PATH), unless a usable one
# is there. Without PYTHON, an environment of any supported version is usable.

set -eu

venv=$1
given=${2:-}
oldest=11
newest=14

probe='
import sys, sysconfig
try:
    import ensurepip, venv
    tools = "venv"
except ImportError:
    tools = "no-venv"
name = sys.implementation.name if hasattr(sys, "implementation") else "python"
threads = "free" if sysconfig.get_config_var("Py_GIL_DISABLED") else "default"
print("%s %d %d %s %s" % ((name,) + sys.version_info[:2] + (threads, tools)))
'

# Print why the Python in $1 is not suitable; nothing if it is.
why_not() {
    if ! facts=$("$1" -c "$probe" 2>/dev/null); then
        echo "$1 cannot be run."
        return
    fi
    read -r name major minor threads tools <<EOF
$facts
EOF
    if [ "$name" = python ] || [ "$major" -ne 3 ] || [ "$minor" -lt $oldest ] || [ "$minor" -gt $newest ]; then
        echo "$1 is Python $major.$minor; Toolwire needs 3.$oldest to 3.$newest."
    elif [ "$name" != cpython ]; then
        echo "$1 is $name; Toolwire needs CPython."
    elif [ "$threads" != default ]; then
        echo "$1 is a free-threaded build; google-re2, tree-sitter and psycopg-binary have no wheels for it."
    elif [ "$tools" != venv ]; then
        echo "$1 has no venv module (Debian and Ubuntu: apt install python$major.$minor-venv)."
    fi
}

# Print the version of the Python in $1, such as 3.12.
version() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
}

# Print why the environment that is there cannot be used; nothing if it can, or if there is none.
why_anew() {
    [ -e "$venv" ] || return 0
    if ! has=$(version "$venv/bin/python"); then
        echo "its Python cannot be run"
    elif [ -n "$given" ] && [ "$has" != "$(version "$given")" ]; then
        echo "it has Python $has, and $given is Python $(version "$given")"
    elif [ -z "$given" ] && [ -n "$(why_not "$venv/bin/python")" ]; then
        echo "it has Python $has"
    else
        # Its scripts hold the path for which it was made.
        made_for=$(sed -n 's/^command = .* -m venv \(--clear \)\{0,1\}//p' "$venv/pyvenv.cfg" 2>/dev/null || true)
        case $venv in
            /*) here=$venv ;;
            *) here=$(pwd -P)/$venv ;;
        esac
        if [ -n "$made_for" ] && [ "$made_for" != "$here" ]; then
            echo "it was made for $made_for"
        fi
    fi
}

if [ -n "$given" ]; then
    problem=$(why_not "$given")
    if [ -n "$problem" ]; then
        echo "$problem" >&2
        echo "Choose another one (make PYTHON=/path/to/python3) or leave PYTHON out." >&2
        exit 1
    fi
fi

anew=$(why_anew)
if [ -z "$anew" ] && [ -e "$venv/.made" ]; then
    exit 0
fi

python=$given
problems=
if [ -z "$python" ]; then
    for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
        command -v "$name" >/dev/null || continue
        problem=$(why_not "$name")
        if [ -z "$problem" ]; then
            python=$name
            break
        fi
        problems="$problems  $problem
"
    done
fi
if [ -z "$python" ]; then
    echo "No suitable Python was found. Toolwire needs CPython 3.$oldest to 3.$newest with its venv module." >&2
    printf %s "$problems" >&2
    echo "Install one, or name it: make PYTHON=/path/to/python3" >&2
    exit 1
fi

if ! { mkdir -p "$venv" && [ -w "$venv" ]; } 2>/dev/null; then
    echo "Cannot write to $venv. Put the environment elsewhere: make VENV=/tmp/toolwire-venv" >&2
    exit 1
fi

if [ -n "$anew" ]; then
    echo "Making $venv anew with $python: $anew."
    rm -rf "$venv"
else
    echo "Making $venv with $python …"
fi
if ! "$python" -m venv "$venv"; then
    echo "$python cannot make a virtual environment; see above." >&2
    exit 1
fi
touch "$venv/.made"
