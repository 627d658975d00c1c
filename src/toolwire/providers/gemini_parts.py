"""The rarer things in a Gemini answer: media, tools that ran on Google's side, citations, names in other spellings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..chunks import ChunkResponse, Citation, PartEnd, ServerToolDelta
from .decoder import shown
from .gemini_request import WIRE

_RESULTS = frozenset(("codeExecutionResult", "toolResponse", "functionResponse"))
_AS_SENT = frozenset(("args", "response", "partMetadata"))
_DEEPEST_NAMES = 12


_BESIDE = frozenset(("text", "thought", "thoughtSignature", "partMetadata", "videoMetadata", "mediaResolution"))
_MEDIA = {"image": "image_urls", "audio": "audio_urls", "video": "video_urls"}
_KEPT_WITH_MEDIA = ("thought", "thoughtSignature", "fileData")


def part_kind(native: dict[str, Any] | None) -> str | None:
    """The member that says what a part is, where that is neither text nor a call."""
    if native is None:
        return None
    return next((name for name, value in native.items() if name not in _BESIDE and value is not None), None)


def media_part(native: dict[str, Any], kind: str) -> ChunkResponse | None:
    """A picture, a sound or a film, inline or by address, with what must go back beside it; None for all else."""
    value = native[kind]
    if kind not in ("inlineData", "fileData") or not isinstance(value, dict):
        return None
    media_type, address = value.get("mimeType"), value.get("data" if kind == "inlineData" else "fileUri")
    member = _MEDIA.get(media_type.partition("/")[0]) if isinstance(media_type, str) else None
    if member is None or not isinstance(address, str):
        return None
    kept = {name: native[name] for name in _KEPT_WITH_MEDIA if native.get(name) is not None}
    made = ChunkResponse(part_end=PartEnd("media", {"wire": WIRE, **kept} if kept else None))
    setattr(made, member, (f"data:{media_type};base64,{address}" if kind == "inlineData" else address,))
    return made


def server_part(native: dict[str, Any], kind: str, key: str) -> ServerToolDelta:
    """A part that is not for us to act on, shown and kept whole; `kind` is the member that says what it is."""
    value = native[kind]
    name, text, call_id = kind, "", ""
    if isinstance(value, dict):
        call_id = value["id"] if isinstance(value.get("id"), str) else ""
        if kind in ("executableCode", "codeExecutionResult"):
            name = "code_execution"
            words = value.get("code" if kind == "executableCode" else "output")
            text = words if isinstance(words, str) else ""
        elif kind in ("toolCall", "toolResponse"):
            tool = value.get("toolType")
            name = tool.lower() if isinstance(tool, str) and tool else kind
            inner = value.get("args" if kind == "toolCall" else "response")
            text = "" if inner is None else shown(inner)
        elif kind == "inlineData":
            text = shown(value.get("mimeType"))
        else:
            text = shown(value)
    else:
        text = shown(value)
    return ServerToolDelta(key, name, call_id, text, kind in _RESULTS, True, {"wire": WIRE, "part": native})


def read_citations(grounding: Any, cited: Any) -> Iterator[Citation]:
    """The sources of an answer: those that searches found, with what they support, and those that were recited."""
    if isinstance(grounding, dict):
        yield from _grounded(grounding)
    if isinstance(cited, dict):
        for source in _dicts(cited.get("citationSources")) + _dicts(cited.get("citations")):
            citation = Citation(_text(source, "uri"), _text(source, "title"))
            if citation.url or citation.title:
                yield citation


def _grounded(grounding: dict[str, Any]) -> Iterator[Citation]:
    sources: list[Citation] = []
    for chunk in _dicts(grounding.get("groundingChunks")):
        found: dict[str, Any] = next((value for value in chunk.values() if isinstance(value, dict)), {})
        sources.append(Citation(_text(found, "uri"), _text(found, "title"), _text(found, "text")))
    supported: set[int] = set()
    for support in _dicts(grounding.get("groundingSupports")):
        segment, indices = support.get("segment"), support.get("groundingChunkIndices")
        quote = _text(segment, "text") if isinstance(segment, dict) else ""
        for index in indices if isinstance(indices, list) else ():
            if type(index) is int and 0 <= index < len(sources):
                supported.add(index)
                yield Citation(sources[index].url, sources[index].title, quote)
    for index, source in enumerate(sources):
        if index not in supported and (source.url or source.title or source.quote):
            yield source


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: dict[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def camel_case(value: Any, depth: int = 0) -> Any:
    """A chunk whose names are spelled as the REST API spells them: `finish_reason` becomes `finishReason`.

    What a model or a tool wrote stays as it is.
    """
    if depth > _DEEPEST_NAMES:
        return value
    if isinstance(value, list):
        return [camel_case(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    spelled: dict[str, Any] = {}
    for name, inner in value.items():
        first, *words = name.split("_")
        plain = first + "".join(word[:1].upper() + word[1:] for word in words) if first else name
        spelled.setdefault(plain, inner if plain in _AS_SENT else camel_case(inner, depth + 1))
    return spelled
