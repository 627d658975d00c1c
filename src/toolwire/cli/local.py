"""`toolwire local`: the embedded model's weights."""

from __future__ import annotations

import sys

from ..errors import LocalModelError
from ..extras import install_command
from .faults import say
from .inputs import as_text
from .install import NAME, has_engine, install_with_progress


def install() -> int:
    """Downloads the weights (about 93 MB, once) and checks them."""
    from ..local.library import load_error
    from ..local.weights import installed_weights

    path = installed_weights(verify=True)
    if path is not None:
        print(f"{NAME} is installed already: {as_text(str(path))}")
    else:
        path = install_with_progress()
        print(f"{NAME} is installed, its checksum is right: {as_text(str(path))}")
    if (problem := load_error()) is not None:
        say(f"the weights cannot be used yet: {problem.message}", problem.hint)
    return 0


def status() -> int:
    """Says whether the embedded model can run here."""
    from ..local.library import load_error
    from ..local.weights import installed_weights

    path = installed_weights()
    problem = load_error()
    is_ready = problem is None
    if not has_engine():
        print(f"engine   not installed ({install_command('local')})")
    elif problem is not None:
        print(f"engine   {problem.message} {problem.hint}")
    else:
        print("engine   installed")
    if path is None:
        print("weights  not installed (toolwire local install)")
    else:
        print(f"weights  {NAME}, {path.stat().st_size / 1e6:.0f} MB, {as_text(str(path))}")
    return 0 if is_ready and path is not None else 1


def path() -> int:
    """Prints the path of the weights."""
    from ..local.weights import installed_weights

    found = installed_weights()
    if found is None:
        raise LocalModelError("the weights are not installed", hint="Install them: toolwire local install")
    sys.stdout.write(f"{found}\n")
    return 0
