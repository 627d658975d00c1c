"""What a file holds, by its first bytes: text in some encoding, or something else that is not for reading."""

from __future__ import annotations

import codecs
from typing import NamedTuple

HEAD = 65_536
"""How many bytes of a file are looked at."""


class Contents(NamedTuple):
    """What a file was recognised as. Without an `encoding` it is no text."""

    encoding: str
    """Python's name of the encoding."""
    name: str
    """What to call it: the encoding's name, or the kind of file."""
    mark: int = 0
    """How many bytes of a byte order mark come first."""
    is_guess: bool = False
    """Nothing in the file says its encoding: this is the likeliest."""
    bare_returns: bool = False
    """Lines end with CR alone, as on very old systems."""

    @property
    def is_wide(self) -> bool:
        """A line feed is not one byte in it."""
        return self.encoding.startswith(("utf-16", "utf-32"))


_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32, little-endian, with a byte order mark"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32, big-endian, with a byte order mark"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16, little-endian, with a byte order mark"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16, big-endian, with a byte order mark"),
)

_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\0\0\x01\0", "an icon"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or a document, package or program made of one)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "an ELF program or library"),
    (b"MZ", "a Windows program or library"),
    (b"\xfe\xed\xfa\xce", "a macOS program or library"),
    (b"\xfe\xed\xfa\xcf", "a macOS program or library"),
    (b"\xcf\xfa\xed\xfe", "a macOS program or library"),
    (b"\xca\xfe\xba\xbe", "a Java class or a macOS program"),
    (b"\0asm", "WebAssembly"),
    (b"!<arch>\n", "a library or package (ar)"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"ID3", "MP3 sound"),
    (b"OggS", "Ogg sound or video"),
    (b"fLaC", "FLAC sound"),
    (b"\x1aE\xdf\xa3", "a Matroska or WebM video"),
    (b"wOFF", "a web font"),
    (b"wOF2", "a web font"),
    (b"\0\x01\0\0\0", "a TrueType font"),
    (b"PAR1", "Parquet data"),
    (b"\x89HDF\r\n\x1a\n", "HDF5 data"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"GGUF", "a GGUF model"),
    (b"\x80\x04\x95", "a Python pickle"),
)

_INSIDE = ((0, b"RIFF", 8, b"WEBP", "a WebP image"), (0, b"RIFF", 8, b"WAVE", "WAV sound"))

_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\b\t\n\f\r\x1b") + b"\x7f"
"""Bytes that no encoding of text uses but by chance."""
_NOT_CP1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")


def recognise(head: bytes, *, is_whole: bool) -> Contents:
    """What a file is that begins with these bytes (`HEAD` of them, or all: `is_whole`)."""
    for mark, encoding, name in _MARKS:
        if head.startswith(mark) and _reads(head[len(mark) :], encoding, is_whole):
            return Contents(encoding, name, len(mark), bare_returns=_bare_returns(head[len(mark) :], encoding))
    kind = _kind(head)
    if b"\0" not in head and _reads(head, "utf-8", is_whole) and not head.startswith(b"%PDF-"):
        return Contents("utf-8", "UTF-8", bare_returns=_bare_returns(head, "utf-8"))
    if kind or b"\0" in head or len(head) - len(head.translate(None, _CONTROLS)) > len(head) // 100:
        return Contents("", kind or _wide_without_mark(head) or "binary data")
    encoding = "latin-1" if _NOT_CP1252.intersection(head) else "cp1252"
    return Contents(encoding, encoding, is_guess=True, bare_returns=_bare_returns(head, encoding))


def _reads(data: bytes, encoding: str, is_whole: bool) -> bool:
    """Whether it is text in the encoding; a character that is cut at the end of a part is none the worse for it."""
    try:
        return "\0" not in codecs.getincrementaldecoder(encoding)().decode(data, final=is_whole)
    except UnicodeDecodeError:
        return False


def _bare_returns(data: bytes, encoding: str) -> bool:
    text = data.decode(encoding, "replace")
    return "\r" in text and "\n" not in text


def _kind(head: bytes) -> str:
    for start, name in _KINDS:
        if head.startswith(start):
            return name
    for at, first, then, second, name in _INSIDE:
        if head.startswith(first, at) and head.startswith(second, then):
            return name
    if head.startswith(b"ftyp", 4):
        return "an MP4 video, or an image or sound in the same envelope"
    return "a tar archive" if head.startswith(b"ustar", 257) else ""


def _wide_without_mark(head: bytes) -> str:
    """UTF-16 text in Latin letters has a NUL as every second byte."""
    for start in (0, 1):
        half = head[start::2]
        other = head[1 - start :: 2]
        if half and half.count(0) > 0.8 * len(half) and other.count(0) < 0.1 * len(other) + 1:
            return "probably UTF-16 text without a byte order mark"
    return ""
