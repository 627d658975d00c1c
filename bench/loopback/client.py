"""One contender in a process of its own: reads one answer again and again, and tells the least processor time.

    python -m bench.loopback.client NUMBER KIND URL

NUMBER is the contender's place in `CONTENDERS`. Prints one line of JSON: an empty object for a package that is not
installed, which is no failure.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from importlib import import_module
from time import process_time

from .contenders import CONTENDERS, Contender, installed

LEAST, MOST = 3, 15
"""Readings by the clock."""
BUDGET = 1.0
"""Seconds of processor time after which `LEAST` readings are enough."""


def run(contender: Contender, kind: str, url: str) -> dict[str, object]:
    """Some readings to get warm, then the least time of several."""
    if contender.package and not installed(contender.package):
        return {}
    module, _, function = contender.place.partition(":")
    read = getattr(import_module(f".{module}", __package__), function)(contender.wire, url, kind)
    items = read()  # to get warm
    least = float("inf")
    began = process_time()
    for number in range(MOST):
        if number >= LEAST and process_time() - began > BUDGET:
            break
        started = process_time()
        if read() != items:
            raise AssertionError(f"{contender.name} did not read the same twice")
        least = min(least, process_time() - started)
    return {"seconds": least, "items": items, "version": installed(contender.package)}


def main() -> int:
    """Read the arguments, measure, print."""
    number, kind, url = sys.argv[1:]
    warnings.simplefilter("ignore")
    logging.disable()
    print(json.dumps(run(CONTENDERS[int(number)], kind, url)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
