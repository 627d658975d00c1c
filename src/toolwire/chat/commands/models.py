"""`/model`, `/provider`, `/parser`: who is asked, and how its calls are read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ...cli.assembly import as_model
from ...cli.choose import EMBEDDED
from ...cli.discover import key_words, running_servers
from ...embedded.choosing import NATIVE
from ...embedded.registry import AUTO, format_names
from ...errors import ConfigError
from ...providers.catalog import PROVIDERS, find_provider
from ...providers.endpoint import missing
from ..desk import Desk, Row
from ..talk import Talk
from .command import Command, Suggestion
from .layout import cells, code

_EMBEDDED_ROW = Row(EMBEDDED, "SmolLM2-135M", "built in, very small, needs no key", "On this machine")

_READY, _NOT_READY = "Ready to be asked", "Not set up"


async def _model(talk: Talk, desk: Desk, typed: str) -> None:
    if not typed:
        rows = await _found()
        if all(row.value != talk.model for row in rows):
            rows.insert(0, Row(talk.model, talk.model, group="Asked now"))
        typed = await desk.choose("Which model?", rows, current=talk.model) or ""
    if not typed:
        return
    name = _whole_name(talk, typed)
    if name == talk.model:
        desk.say(f"{cells(talk.made.words)} is asked already.")
        return
    _check_installed(name)
    same = name.partition(":")[0] == talk.model.partition(":")[0]
    # A server of the person's own stays the one that is asked when only the model is another.
    await talk.change(model=name, base_url=talk.made.base_url if same else None)
    _tell(talk, desk)


async def _provider(talk: Talk, desk: Desk, typed: str) -> None:
    if not typed:
        current = talk.model.partition(":")[0]
        typed = await desk.choose("Which provider?", list(_provider_rows()), current=current) or ""
    if not typed:
        return
    provider = find_provider(typed)
    if provider is None:
        raise ConfigError(f"there is no provider {typed[:40]!r}", hint="/provider alone lists them all.")
    if provider.name == talk.model.partition(":")[0]:
        desk.say(f"{cells(talk.made.words)} is asked already. For another of its models: {code('/model NAME')}")
        return
    if lacks := missing(provider, os.environ):
        needs = ", ".join(choice[0] for choice in lacks)
        raise ConfigError(
            f"{provider.title} needs {needs}, which is not set",
            hint=f"Set it before you start: export {lacks[0][0]}=…",
        )
    if not provider.default_model and provider.name != "local":
        raise ConfigError(
            f"{provider.title} has no usual model", hint=f"Name the one you want: /model {provider.name}:MODEL"
        )
    name = EMBEDDED if provider.name == "local" else f"{provider.name}:{provider.default_model}"
    _check_installed(name)
    await talk.change(model=name)
    _tell(talk, desk)


async def _parser(talk: Talk, desk: Desk, typed: str) -> None:
    if not typed:
        rows = [Row(each.text, each.text, each.words) for each in _parsers(talk, "")]
        typed = await desk.choose("How are calls read?", rows, current=talk.agent.parser) or ""
    if not typed:
        return
    await talk.change(stream_parser=typed)
    desk.say(f"Calls are read as {code(talk.agent.parser)} from the next question on.")


def _tell(talk: Talk, desk: Desk) -> None:
    desk.say(f"From now on: {cells(talk.made.words)}")
    for words in talk.made.problems:
        desk.problem(words)


def _check_installed(name: str) -> None:
    """The embedded model is fetched once, by a command that shows how far it is."""
    if name != EMBEDDED:
        return
    from ...cli.install import has_engine
    from ...extras import missing_extra
    from ...local.weights import installed_weights

    if not has_engine():
        raise missing_extra("local")
    if installed_weights() is None:
        raise ConfigError("the embedded model is not installed", hint="In a shell: toolwire local install")


def _whole_name(talk: Talk, typed: str) -> str:
    """A name without a provider is a model of the one at hand."""
    if any(char.isspace() for char in typed):
        raise ConfigError(f"{typed[:40]!r} names no model", hint="As in /model anthropic:claude-sonnet-5")
    provider, colon, _ = typed.partition(":")
    if typed == EMBEDDED or as_model(typed) != typed or (colon and find_provider(provider)) or find_provider(typed):
        return typed
    return f"{talk.model.partition(':')[0]}:{typed}"


async def _found() -> list[Row]:
    """What can be asked as things are, then what each provider would need."""
    running = await running_servers(os.environ)
    rows = [
        Row(f"{name}:{each}", f"{name}:{each}", "running here", _READY) for name in running for each in running[name]
    ]
    for each in PROVIDERS.values():
        if each.default_model and not missing(each, os.environ) and (words := key_words(each, os.environ)):
            name = f"{each.name}:{each.default_model}"
            rows.append(Row(name, name, words, _READY))
    return [_EMBEDDED_ROW, *rows, *(row for row in _provider_rows(models=True) if row.group == _NOT_READY)]


def _provider_rows(*, models: bool = False) -> Iterator[Row]:
    ready, others = list[Row](), list[Row]()
    for each in PROVIDERS.values():
        value = f"{each.name}:{each.default_model}" if models and each.default_model else each.name
        lacks = missing(each, os.environ)
        if lacks:
            others.append(Row(value, value, f"needs {', '.join(choice[0] for choice in lacks)}", _NOT_READY))
        else:
            words = key_words(each, os.environ) or each.title
            ready.append(Row(value, value, words, _READY))
    yield from ready
    yield from others


def _models(talk: Talk, typed: str) -> Sequence[Suggestion]:
    names = [EMBEDDED] + [f"{each.name}:{each.default_model}" for each in PROVIDERS.values() if each.default_model]
    ready = {each.name for each in PROVIDERS.values() if not missing(each, os.environ)}
    names.sort(key=lambda name: name.partition(":")[0] not in ready)
    return [Suggestion(name) for name in names if typed.lower() in name.lower()]


def _providers(talk: Talk, typed: str) -> Sequence[Suggestion]:
    return [Suggestion(row.value, row.words) for row in _provider_rows() if typed.lower() in row.value]


def _parsers(talk: Talk, typed: str) -> Sequence[Suggestion]:
    words = {AUTO: "what the provider has, else text", NATIVE.name: "the provider's own tool calls"}
    names = [AUTO, NATIVE.name, *format_names()]
    return [Suggestion(name, words.get(name, "in the model's text")) for name in names if typed.lower() in name.lower()]


COMMANDS = (
    Command("model", "Goes on with another model.", _model, "[PROVIDER:MODEL]", _models, aliases=("models",)),
    Command(
        "provider",
        "Goes on with another provider.",
        _provider,
        "[NAME]",
        _providers,
        aliases=("providers",),
    ),
    Command("parser", "Says how the model's tool calls are read.", _parser, "[NAME]", _parsers),
)
