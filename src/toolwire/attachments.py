"""A file or an address as a part of a question: `agent.run([TextPart("What is this?"), attachment("photo.png")])`.

What a file is, its bytes say; its name is asked only where they do not, since names are often wrong and providers
refuse a picture of another kind than it is said to be.
"""

from __future__ import annotations

import mimetypes
import os
import stat
from base64 import b64encode
from urllib.parse import urlsplit

from .errors import ConfigError
from .files.contents import HEAD, Contents, recognise
from .framed import framed
from .messages import MediaPart, TextPart

MAX_BYTES = 20_000_000
"""Of one file: what most providers take in a whole request."""
MAX_TEXT = 1_000_000
"""Bytes of one text: some 250,000 tokens, more than most models can read."""

_ADDRESSES = ("http", "https", "gs", "s3")

_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_FTYP = {
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"qt  ": "video/quicktime",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"avif": "image/avif",
}
_EXTENSIONS = {
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".heic": "image/heic",
    ".mkv": "video/x-matroska",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wav",
    ".webm": "video/webm",
    ".webp": "image/webp",
}
"""Where machines differ in what they know, or know nothing."""


def attachment(path_or_url: str | os.PathLike[str]) -> MediaPart | TextPart:
    """The part that holds this file, or names this address.

    A file is read, up to 20 MB. A text (any that can be read as one, also HTML and SVG) becomes words under its name,
    which every model takes; up to 1 MB. An address (`https:`, `gs:`, `s3:`) is given to the provider, which fetches it,
    or refuses if it does not do that. What cannot be attached is a `ConfigError` that says why.
    """
    if isinstance(path_or_url, str):
        scheme = path_or_url.partition("://")[0].lower()
        if scheme in _ADDRESSES and "://" in path_or_url:
            return _by_address(path_or_url)
    path = os.fspath(path_or_url)
    name = os.path.basename(path).encode("utf-8", "replace").decode()
    data = _read(path)
    contents = recognise(data[:HEAD], is_whole=len(data) <= HEAD)
    media_type = _type_of(data)
    if not media_type and contents.encoding:
        return _as_text(name, path, data, contents)
    media_type = media_type or _by_name(name)
    if not media_type:
        raise ConfigError(
            f"{path} cannot be attached: it is {contents.name}, and neither its bytes nor its name say more",
            hint="Give MediaPart(media_type, data=...) yourself, if you know what it is.",
            path=path,
        )
    return MediaPart(media_type, data=b64encode(data).decode(), name=name)


def _by_address(url: str) -> MediaPart:
    try:
        name = os.path.basename(urlsplit(url).path)
    except ValueError:
        raise ConfigError("this is no address", hint="Check it: it cannot be read as a URL.") from None
    media_type = _by_name(name)
    if not media_type:
        raise ConfigError(
            "the address does not say what kind of file is there",
            hint='Give MediaPart("image/png", url=...) with the right media type, or fetch it and attach the file.',
        )
    return MediaPart(media_type, url=url, name=name)


def _read(path: str) -> bytes:
    try:
        # A pipe without a writer would not open otherwise.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no file name"
        raise ConfigError(f"{path!r} cannot be attached: {why}", hint="Check the path.", path=path) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ConfigError(f"{path} cannot be attached: it is no file", hint="Attach files one by one.", path=path)
    with open(descriptor, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ConfigError(
            f"{path} cannot be attached: it has more than {MAX_BYTES // 1_000_000} MB",
            hint="Make it smaller, or put it where the provider can fetch it and give the address.",
            path=path,
        )
    if not data:
        raise ConfigError(f"{path} cannot be attached: it is empty", hint="Check the path.", path=path)
    return data


def _type_of(data: bytes) -> str:
    for start, media_type in _STARTS:
        if data.startswith(start):
            return media_type
    if data.startswith(b"RIFF"):
        return _RIFF.get(data[8:12], "")
    if data.startswith(b"ftyp", 4):
        return _FTYP.get(data[8:12], "video/mp4")
    return ""


def _by_name(name: str) -> str:
    extension = os.path.splitext(name)[1].lower()
    return _EXTENSIONS.get(extension) or mimetypes.guess_type(f"a{extension}", strict=False)[0] or ""


def _as_text(name: str, path: str, data: bytes, contents: Contents) -> TextPart:
    if len(data) > MAX_TEXT:
        raise ConfigError(
            f"{path} cannot be attached: it has {len(data):,} bytes, and a text in a message at most {MAX_TEXT:,}",
            hint="Give the model a tool to read it (read_file), or attach the part that matters.",
            path=path,
        )
    text = data[contents.mark :].decode(contents.encoding, "replace")
    return TextPart(framed(f"file {name}", text))
