"""What `toolwire doctor` says of models: which keys are set, whom a person has set up, and whether each calls tools.

Only what the person set up is asked: what they name, models of servers that run here, services whose key is set. Of
what lies on the machine for other purposes (credentials of a cloud's own tools) it is told, and nothing is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from ..agent.endpoint import environment
from ..chunks import StopReason
from ..errors import ConfigError, RateLimited, ToolwireError
from ..extras import install_command
from ..providers.catalog import PROVIDERS, split_model
from ..providers.endpoint import base_url_of, key_variable, missing, resolve
from ..providers.provider import Provider
from ..redaction import STARS
from ..settings.model import Settings
from .assembly import as_model
from .discover import key_words
from .doctor_findings import Finding, odd, unused, well, wrong
from .doctor_reach import list_models, what_to_do
from .doctor_trial import Trial, try_model
from .install import NAME, has_engine

START = 60.0
"""Seconds for the embedded model to load, on a slow disk."""
SHOWN = 5
"""Models of a list that are named."""
_QUOTES = "\"'`"


class Asked(msgspec.Struct, frozen=True):
    """Whom to ask, and why."""

    name: str
    """`provider:model`; without a model only the provider's list is asked for."""
    why: str
    is_tried: bool = True
    base_url: str | None = None


def keys(env: Mapping[str, str]) -> Iterator[Finding]:
    """The variables with keys that are set: their names, and what is odd about how they are written. Never a value."""
    users: dict[str, list[str]] = {}
    for row in PROVIDERS.values():
        for variable in row.keys:
            if variable in env:
                users.setdefault(variable, []).append(row.name)
    for variable, names in users.items():
        used = f"for {', '.join(names)}"
        if problem := _odd_value(env[variable]):
            yield odd(variable, f"{problem} ({used})", f"Set {variable} again: the key alone, on one line.")
        else:
            yield well(variable, f"is set, {used}", providers=names)
    if not users:
        yield unused("keys", "none is set: the embedded model and servers on this machine need none")


def _odd_value(value: str) -> str:
    """What is wrong with a key as it is written, without a character of it."""
    bare = value.strip()
    if not bare:
        return "is set, but empty"
    if bare[0] in _QUOTES or bare[-1] in _QUOTES:
        return "has quotation marks around it, which are sent along"
    if len(bare.split()) > 1:
        return "has blanks or line breaks in it"
    if not bare.isascii() or not bare.isprintable():
        return "holds characters that no key has"
    if bare.startswith(("$", "<", "{")) or STARS in bare or bare.lower() in _PLACEHOLDERS:
        return "looks like a placeholder, not like a key"
    return ""


_PLACEHOLDERS = frozenset({"changeme", "xxx", "todo", "none", "null", "your-api-key", "your_api_key", "your-key-here"})


def whom_to_ask(
    env: Mapping[str, str], settings: Settings, named: Sequence[str], running: Mapping[str, list[str]]
) -> tuple[list[Asked], list[Finding]]:
    """Whom to ask, and what there is to say of those who are not.

    Where some are named, these and no others.
    """
    if named:
        return [Asked(name, "named") for name in dict.fromkeys(named)], []
    asked: list[Asked] = []
    told: list[Finding] = []
    usual = _provider_of(settings.model)
    if usual not in ("", "local"):
        asked.append(Asked(settings.model, "your usual model", base_url=settings.base_url or None))
    for provider, models in running.items():
        if models:
            asked.append(Asked(f"{provider}:{models[0]}", "running here"))
        else:
            told.append(odd(provider, "it runs, but has no model", "Load one into it."))
    # A key is tried once, with the usual model where it is that one's.
    taken = {key_words(PROVIDERS[usual], env)} if usual else set()
    for row in PROVIDERS.values():
        is_named = row.name in settings.providers or _is_set(row, env)
        if row.name in ("local", usual) or row.name in running or (row.is_local and not is_named):
            continue
        why = key_words(row, env) or (f"{row.name} is set up" if is_named else "")
        if not why or why in taken:
            continue
        taken.add(why)
        if lacks := missing(row, env):
            needs = ", ".join(" or ".join(choice) for choice in lacks)
            in_file = row.name in settings.providers
            words = f"it stands in config.toml, but {needs} is not set" if in_file else f"{why}, but not {needs}"
            unset = f"take [providers.{row.name}] out of the file" if in_file else "unset what is not used"
            told.append(odd(row.name, words, f"Set {lacks[0][0]}, or {unset}."))
        elif not key_variable(row, env) and row.credentials:
            todo = f"To try it: toolwire doctor {row.name}:MODEL"
            told.append(unused(row.name, f"there are {why}, perhaps for something else; nothing was sent", todo))
        else:
            asked.append(Asked(f"{row.name}:{row.default_model}".rstrip(":"), why, bool(row.default_model)))
    return [each for number, each in enumerate(asked) if _is_first(asked, number)], told


def _provider_of(model: str) -> str:
    """The provider of a model; empty where there is none, which is told among the files."""
    try:
        return split_model(as_model(model))[0].name if model else ""
    except ConfigError:
        return ""


def _is_first(asked: Sequence[Asked], number: int) -> bool:
    return all(each.name != asked[number].name for each in asked[:number])


def _is_set(row: Provider, env: Mapping[str, str]) -> bool:
    """Whether the person has said where this server is."""
    return any(env.get(variable, "").strip() for variable in row.base_url_variables) and bool(base_url_of(row, env))


async def ask_all(asked: Sequence[Asked], env: Mapping[str, str], seconds: float) -> list[Finding]:
    """Asks them side by side; one finding each, in their order."""
    return list(await asyncio.gather(*(_ask(each, env, seconds) for each in asked)))


async def _ask(asked: Asked, env: Mapping[str, str], seconds: float) -> Finding:
    name = asked.name
    try:
        whole = name if asked.is_tried else f"{name}:any"
        endpoint = resolve(whole, environment(whole), base_url=asked.base_url)
        if asked.is_tried:
            trial = await try_model(name, seconds=seconds, base_url=asked.base_url)
            if trial.error is None:
                return told(name, trial)
            error = trial.error
        else:
            try:
                return _listed(name, await list_models(endpoint), asked.why)
            except ConfigError:
                return odd(name, f"{asked.why}; which model?", f"Name one to try it: toolwire doctor {name}:MODEL")
            except ToolwireError as failed:
                error = failed
        todo = await what_to_do(error, endpoint, env)
    except ToolwireError as unusable:
        # It cannot even be asked: a name, a key or a variable is missing.
        return wrong(name, unusable.message, unusable.hint.replace(", or pass api_key", ""), **_error_facts(unusable))
    kind = odd if isinstance(error, RateLimited) and not todo.startswith("Add credit") else wrong
    return kind(name, error.message, todo, reached="status" in error.facts, **_error_facts(error))


def _error_facts(error: ToolwireError) -> dict[str, object]:
    facts = {key: value for key, value in error.facts.items() if key in ("status", "code", "which", "refused", "url")}
    return {"error": type(error).__name__, **facts}


def _listed(name: str, models: Sequence[str], why: str) -> Finding:
    if not models:
        return odd(name, f"{why}; it answers, and lists no models", f"Try one: toolwire doctor {name}:MODEL")
    some = ", ".join(models[:SHOWN]) + (" …" if len(models) > SHOWN else "")
    words = f"{why}; it answers, and lists {len(models):,} models ({some})"
    return Finding(
        name=name, state="well", words=words, todo=f"To try one: toolwire doctor {name}:MODEL", facts={"reached": True}
    )


def told(name: str, trial: Trial) -> Finding:
    """What came of an answer that came whole."""
    first = f"first bytes after {trial.first:.1f} s, " if trial.first is not None else ""
    tokens = trial.usage.total_tokens if trial.usage is not None else 0
    took = f"{first}all after {trial.seconds:.1f} s" + (f", {tokens:,} tokens" if tokens else "")
    facts = {
        "reached": True,
        "calls": trial.calls,
        "parser": trial.parser,
        "first_byte_seconds": None if trial.first is None else round(trial.first, 3),
        "seconds": round(trial.seconds, 3),
        "tokens": tokens,
        "stop_reason": trial.stop,
    }
    if trial.calls == "native":
        return well(name, f"a well-formed call came ({took})", **facts)
    if trial.calls == "text":
        return well(name, f"a well-formed call came in its text, in the format {trial.parser} ({took})", **facts)
    if trial.calls == "leaked":
        todo = "Have it read there too: --stream-parser api_tool_call+auto"
        return odd(name, f"its call came in its text, not as data ({took})", todo, **facts)
    if trial.stop is StopReason.LENGTH:
        todo = "It thinks for long before it calls; it may well work. Ask it something: toolwire run"
        return odd(name, f"its answer was cut by the token limit before a call was there ({took})", todo, **facts)
    if trial.problem:
        todo = "Small models often slip; take a larger one, or try --stream-parser xml --repair"
        return odd(name, f"its call is not well-formed: {trial.problem} ({took})", todo, **facts)
    todo = "It may not know tools: try another model, or let it call in text: --stream-parser xml"
    return odd(name, f"it answers, but without the call that it was asked for ({took})", todo, **facts)


async def embedded(seconds: float) -> list[Finding]:
    """Whether the embedded model is there, starts, and calls."""
    from ..local.library import load_error
    from ..local.weights import installed_weights

    if not has_engine():
        return [unused("engine", "not installed", install_command("local"))]
    if (problem := await asyncio.to_thread(load_error)) is not None:
        return [wrong("engine", problem.message, problem.hint)]
    found = [well("engine", "installed")]
    path = await asyncio.to_thread(installed_weights, verify=True)
    if path is None:
        todo = "Download them (93 MB, once): toolwire local install"
        return [*found, unused("weights", "not installed, or not whole", todo)]
    found.append(well("weights", f"{NAME}, the checksum is right", path=str(path)))
    trial = await try_model("local", seconds=seconds, start=START)
    if trial.error is None:
        return [*found, told("a call", trial)]
    return [*found, wrong("a call", trial.error.message, trial.error.hint or "toolwire local status says more.")]
