"""The embedded model for the tests of this folder: installed if it is not there, started once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from toolwire.local.engine import LocalModel
from toolwire.local.weights import install_weights


@pytest.fixture(scope="session")
def local_model() -> Iterator[LocalModel]:
    """A running server with the default weights. All its users are in the xdist group `local-model`."""
    install_weights()
    with asyncio.Runner() as runner:
        model = LocalModel()
        runner.run(model.start())
        try:
            yield model
        finally:
            runner.run(model.stop())
