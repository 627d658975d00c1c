"""`python -m toolwire`: the same as the `toolwire` command."""

import os
import sys
from contextlib import suppress

with suppress(FileNotFoundError):  # the current folder was deleted
    if sys.path[:1] == [os.getcwd()]:
        # `python -m` looks there first, and what lies there may come from anybody.
        del sys.path[0]

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
