"""The `toolwire` command: the same faces as the library, for people and for scripts."""


def main() -> int:
    """The entry point; gives the exit code. Imports what it needs when it is called, so that help comes at once."""
    import sys

    from .app import run_command

    return run_command(sys.argv[1:])
