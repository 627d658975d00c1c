"""`python -m toolwire`: the same as the `toolwire` command."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
