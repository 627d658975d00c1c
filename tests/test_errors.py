"""One tree of errors, each with its facts and as data."""

from __future__ import annotations

import inspect
import traceback

import msgspec
import pytest

from toolwire import Limits, errors
from toolwire.errors import ErrorInfo, IncompleteStream, LimitExceeded, ProviderError, TimedOut, ToolwireError

CLASSES = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, BaseException)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_is_of_the_tree_and_says_what_it_is(kind: type[BaseException]) -> None:
    assert issubclass(kind, ToolwireError)
    assert kind.__doc__


def test_facts_are_attributes_and_none_is_no_fact() -> None:
    error = ProviderError("overloaded", hint="Wait.", provider="openai", status=529, code=None)
    assert (error.provider, error.status, error.hint) == ("openai", 529, "Wait.")
    assert not hasattr(error, "code")
    assert str(error) == "overloaded"


def test_a_traceback_shows_the_hint() -> None:
    error = ProviderError("no key", hint="Set OPENAI_API_KEY.")
    assert "no key\nSet OPENAI_API_KEY.\n" in "".join(traceback.format_exception(error))
    error.hint = "Set ***."
    assert "OPENAI_API_KEY" not in "".join(traceback.format_exception(error))
    assert "None" not in "".join(traceback.format_exception(ProviderError("no key")))


def test_an_error_as_data() -> None:
    info = TimedOut("too slow", which="idle", seconds=3).info()
    assert info == ErrorInfo("TimedOut", "too slow", facts={"which": "idle", "seconds": 3})
    assert msgspec.json.decode(msgspec.json.encode(info), type=ErrorInfo) == info


def test_a_limit_says_which_how_much_and_where() -> None:
    error = LimitExceeded("a line", 1024, position=2000)
    assert str(error) == "a line is over its limit of 1,024 at byte 2000"
    assert (error.what, error.limit, error.position) == ("a line", 1024, 2000)
    assert "toolwire.Limits" in error.hint


def test_a_stream_that_broke_off_has_one_sentence() -> None:
    assert str(IncompleteStream(position=5)) == "the stream broke off before its end"
    assert IncompleteStream(position=5).position == 5


def test_every_limit_is_a_positive_number() -> None:
    for name in Limits.__struct_fields__:
        assert getattr(Limits(), name) > 0
