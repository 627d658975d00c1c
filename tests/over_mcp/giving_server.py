"""A second small server over its pipes: it gives pictures and data, and asks for the model's answer or for a form.

Run it with `python -I -S giving_server.py [FOLDER]`. `picture`: words and a picture. `data`: structured content alone.
`opinion`: what the model says to its `question`. `name`: what a person fills in. `unasked`: asks after it answered,
once there is `go` in the folder, and makes `told` there when it was told something; `data` says what.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ASKED: dict[str, Any] = {}
TOLD: dict[str, str] = {}


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def words(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def sampling(id: str, question: str) -> None:
    params = {"messages": [{"role": "user", "content": {"type": "text", "text": question}}], "maxTokens": 50}
    send(id=id, method="sampling/createMessage", params=params)


def call(id: Any, name: str, arguments: dict[str, Any]) -> None:
    if name == "picture":
        picture = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
        send(id=id, result={"content": [{"type": "text", "text": "A pixel:"}, picture]})
    elif name == "data":
        send(id=id, result={"content": [], "structuredContent": {"degrees": 21, **TOLD}})
    elif name == "opinion":
        ASKED[f"asked-{id}"] = id
        sampling(f"asked-{id}", arguments["question"])
    elif name == "name":
        ASKED[f"asked-{id}"] = id
        form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        send(id=f"asked-{id}", method="elicitation/create", params={"message": "Who?", "requestedSchema": form})
    elif name == "unasked":
        send(id=id, result=words("done"))
        while not os.path.exists(f"{sys.argv[1]}/go"):
            time.sleep(0.01)
        sampling("unasked", "What did they say?")


def answer(message: dict[str, Any]) -> None:
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        info = {"name": "giving server", "version": "1"}
        version = params["protocolVersion"]
        send(id=id, result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        asks = {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}
        plain = [{"name": name, "inputSchema": {"type": "object"}} for name in ("picture", "data", "name", "unasked")]
        send(id=id, result={"tools": [*plain, {"name": "opinion", "inputSchema": asks}]})
    elif method == "tools/call":
        call(id, params["name"], params.get("arguments") or {})
    elif id == "unasked":
        TOLD["told"] = json.dumps(message)
        open(f"{sys.argv[1]}/told", "w").close()
    elif method is None and id in ASKED:
        send(id=ASKED.pop(id), result=words(json.dumps(message.get("result") or message.get("error"))))


for line in sys.stdin:
    answer(json.loads(line))
