"""Server-sent events whose lines end with CRLF, as Google sends them: the frames of `SseDecoder`, sooner."""

from __future__ import annotations

from .lines import invalid_utf8
from .sse import SseDecoder, SseEvent

_GAP = b"\r\n\r\n"
_NEXT = b"\r\n\r\ndata: "


class CrlfSseDecoder(SseDecoder):
    """Takes every event stream and gives what `SseDecoder` gives, with a short way through `data: …`, CRLF, CRLF."""

    def _take(self, data: bytes, frames: list[SseEvent]) -> None:
        if self._mark == b"" and data[:1] > b"" and data[:1] != b"\xef":
            self._mark = None
        if self._held and not self._after_cr and b"\n" not in data and b"\r" not in data:
            self._hold(data)  # the middle of a long line
            return
        if self._mark is None and not self._after_cr and self._text is None and self._first < 0 and _GAP in data:
            if self._held:
                # The held line is joined once, by the read that ends its event.
                data = bytes(self._held) + data
                self._held = bytearray()
                self._watch = 0
            if data[:6] == b"data: ":
                data = self._crlf_events(data, frames)
                if b"\n" not in data and b"\r" not in data:
                    if data:
                        self._hold(data)
                    return
        super()._take(data, frames)

    def _crlf_events(self, data: bytes, frames: list[SseEvent]) -> bytes:
        """Takes the whole events from the start of `data` and returns the rest of it."""
        end = data.rfind(_GAP)
        if end > self._plain:
            return data
        at, last_id, append = self._at, self._id, frames.append
        for piece in data[6:end].split(_NEXT):
            if b"\n" in piece or b"\r" in piece:
                self._lines((b"data: %b\r\n\r\n" % piece).splitlines(True), at, frames)
                last_id = self._id
            else:
                try:
                    append(SseEvent(piece.decode(), "message", last_id, at))
                except UnicodeDecodeError as error:
                    raise invalid_utf8(at + 6 + error.start) from None
            at += len(piece) + 10
        self._at = at
        return data[end + 4 :]
