"""`toolwire local`: the embedded model's weights."""

from __future__ import annotations

import importlib.util
import sys

from ..errors import LocalModelError
from .inputs import as_text
from .install import NAME, install_with_progress


def install() -> int:
    """Downloads the weights (about 93 MB, once) and checks them."""
    from ..local.weights import installed_weights

    path = installed_weights()
    if path is not None:
        print(f"{NAME} is installed already: {as_text(str(path))}")
        return 0
    path = install_with_progress()
    print(f"{NAME} is installed, its checksum is right: {as_text(str(path))}")
    return 0


def status() -> int:
    """Says whether the embedded model can run here."""
    from ..local.weights import installed_weights

    path = installed_weights()
    has_engine = importlib.util.find_spec("xllamacpp") is not None
    print(f"engine   {'installed' if has_engine else 'not installed (pip install toolwire[local])'}")
    if path is None:
        print("weights  not installed (toolwire local install)")
    else:
        print(f"weights  {NAME}, {path.stat().st_size / 1e6:.0f} MB, {as_text(str(path))}")
    return 0 if has_engine and path is not None else 1


def path() -> int:
    """Prints the path of the weights."""
    from ..local.weights import installed_weights

    found = installed_weights()
    if found is None:
        raise LocalModelError("the weights are not installed", hint="Install them: toolwire local install")
    sys.stdout.write(f"{found}\n")
    return 0
