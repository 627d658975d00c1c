"""The `toolwire` command: the same faces as the library, for people and for scripts."""


def main() -> int:
    """The entry point; gives the exit code. Imports what it needs when it is called, so that help comes at once."""
    import sys

    if sys.argv[1:2] == ["__names"]:
        # What a shell asks for at each Tab: answered without the rest of the command.
        from .completion_names import print_names

        return print_names(sys.argv[2:])
    from .app import run_command

    return run_command(sys.argv[1:])
