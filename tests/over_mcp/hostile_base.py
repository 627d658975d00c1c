"""What a hostile server is beside its hostility: an honest one with two tools, over any way out."""

from __future__ import annotations

import json
from typing import Any

Message = dict[str, Any]
ANY: dict[str, Any] = {"type": "object"}
BLOCK = b"x" * 65_536
LISTED: list[Any] = []


class Out:
    """Where answers go."""

    def raw(self, data: bytes) -> None:
        raise NotImplementedError

    def line(self, data: bytes) -> None:
        raise NotImplementedError

    def begin(self) -> None:
        """Before what of a line is written by `raw`."""

    def hold(self) -> None:
        """Keeps whoever asked waiting."""

    def send(self, **message: Any) -> None:
        self.line(json.dumps({"jsonrpc": "2.0", **message}).encode())


def honest(out: Out, message: Message) -> None:
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        has = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
        info = {"name": "hostile", "version": "1"}
        version = params["protocolVersion"]
        out.send(id=id, result={"protocolVersion": version, "capabilities": has, "serverInfo": info})
    elif method == "tools/list":
        LISTED.append(id)
        out.send(id=id, result={"tools": [tool("echo"), tool("other")]})
    elif method == "tools/call":
        out.send(id=id, result=words(str(params.get("arguments", {}).get("text", "done"))))
    elif id is not None and method is not None:
        out.send(id=id, error={"code": -32601, "message": "no such method"})


def tool(name: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "Says what it is given.", "inputSchema": ANY, **more}


def words(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def listing(out: Out, message: Message, *tools: Any, **more: Any) -> None:
    """Its tools, where it is asked for them."""
    if message["method"] == "tools/list":
        out.send(id=message["id"], result={"tools": [tool("echo"), *tools], **more})
    else:
        honest(out, message)


def told(out: Out, method: str, count: int, **params: Any) -> None:
    line = json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()
    for _ in range(count):
        out.line(line)


def num(message: Message) -> bytes:
    return json.dumps(message["id"]).encode()
