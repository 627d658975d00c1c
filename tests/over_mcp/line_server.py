"""A small MCP server over its pipes, of the standard library alone: it starts in some 20 ms.

Run it with `python -I -S line_server.py [WORD …]`. Its tools: `echo` (says its `text`), `slow` (answers in `seconds`,
tells progress before), `crash` (ends in the middle of the call), `fail` (an error that is a result), `refuse` (an error
that is none), `grow` (has a tool more from now on, and says so), `change` (describes `echo` in other words from now on,
and says so; `quiet`: without saying so), `env` (its environment), `ask` (wants a form filled in), `silent` (no answer).
The words change what it does:

    tools=N          N further tools `tool_0` …
    describe=WORDS   the description of `echo`
    refusal=WORDS    what `refuse` says
    start=SECONDS    waits before it answers the first message
    waits=FILE       waits until there is this file before it answers the first message
    mute             answers nothing at all
    strict           ends at a first message that is not `initialize`
    deaf             answers no method that it does not know (as some old servers)
    calls=FILE       writes a line there for each call that it begins, and for each `notifications/cancelled`
    lives=FILE       writes its process id there when it starts
    pages            lists one tool a page
    circle           its pages go round in circles
    die=METHOD       ends when it is asked that
    modern           speaks the protocol of 2026-07-28 alone, where `ask` and `insist` want something before they answer
"""

import json
import os
import sys
import threading
import time
from typing import Any

OPTIONS = dict(word.partition("=")[::2] for word in sys.argv[1:])
LOCK = threading.Lock()
STOPPED: dict[Any, Any] = {}
EXTRA: list[str] = []
LISTENING: list[dict[str, Any]] = []
MODERN = "2026-07-28"
CAPABILITIES = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
WORDS = {"echo": OPTIONS.get("describe", "Says what it is given.")}


def send(**message: Any) -> None:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
    with LOCK:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def note(option: str, words: str) -> None:
    if OPTIONS.get(option):
        with open(OPTIONS[option], "a") as file:
            file.write(words + "\n")


def tools() -> list[dict[str, Any]]:
    text: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    wait: dict[str, Any] = {
        "type": "object",
        "properties": {"seconds": {"type": "number"}, "steps": {"type": "integer"}},
    }
    listed: list[dict[str, Any]] = [
        {"name": "echo", "description": WORDS["echo"], "inputSchema": text},
        {"name": "slow", "description": "Waits.", "inputSchema": wait},
    ]
    others = ("crash", "fail", "refuse", "grow", "change", "quiet", "env", "ask", "silent")
    listed += [{"name": name, "inputSchema": {"type": "object"}} for name in (*others, *EXTRA)]
    if "modern" in OPTIONS:
        wrong: dict[str, Any] = {
            "type": "object",
            "properties": {"a": {"type": "string", "x-mcp-header": "not a header!"}},
        }
        listed.append({"name": "bad_header", "inputSchema": wrong})
    listed += [{"name": f"tool_{at}", "inputSchema": {"type": "object"}} for at in range(int(OPTIONS.get("tools", 0)))]
    return listed


def listing(params: dict[str, Any]) -> dict[str, Any]:
    everything = tools()
    at = int(params.get("cursor", "0"))
    if "circle" in OPTIONS:
        return {"tools": everything[:1], "nextCursor": "1" if at == 0 else "0"}
    if "pages" not in OPTIONS:
        return {"tools": everything}
    more = {"nextCursor": str(at + 1)} if at + 1 < len(everything) else {}
    return {"tools": everything[at : at + 1], **more}


def words(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


def slow(id: Any, arguments: dict[str, Any], token: Any) -> None:
    steps = int(arguments.get("steps", 0))
    for step in range(1, steps + 1):
        if token is not None:
            params = {"progressToken": token, "progress": step, "total": steps, "message": f"step {step}"}
            send(method="notifications/progress", params=params)
    STOPPED.setdefault(id, threading.Event()).wait(arguments.get("seconds", 0))
    send(id=id, result=words("stopped" if STOPPED[id].is_set() else "waited"))


def call(id: Any, params: dict[str, Any]) -> None:
    name, arguments = params["name"], params.get("arguments") or {}
    note("calls", f"call {name} {json.dumps(arguments)}")
    if name == "slow":
        token = params.get("_meta", {}).get("progressToken")
        threading.Thread(target=slow, args=(id, arguments, token), daemon=True).start()
    elif name == "crash":
        os._exit(3)
    elif name == "fail":
        send(id=id, result=words("it went wrong", isError=True))
    elif name == "refuse":
        send(id=id, error={"code": -32602, "message": OPTIONS.get("refusal", "no such thing")})
    elif name == "env":
        send(id=id, result=words(json.dumps({**os.environ, "PWD_NOW": os.getcwd()})))
    elif name in ("ask", "insist") and "modern" in OPTIONS:
        asked = {"message": "Your name?", "requestedSchema": {"type": "object", "properties": {}}}
        wanted = {"who": {"method": "elicitation/create", "params": {"mode": "form", **asked}}}
        given = params.get("inputResponses")
        if name == "ask" and given:
            send(id=id, result=words(json.dumps([given, params.get("requestState")])))
        else:
            more = {"inputRequests": wanted} if name == "ask" else {}
            send(id=id, result={"resultType": "input_required", "requestState": "state", **more})
    elif name == "ask":
        asked = {"message": "Your name?", "requestedSchema": {"type": "object", "properties": {}}}
        send(id=f"ask-{id}", method="elicitation/create", params=asked)
        STOPPED[f"ask-{id}"] = id
    elif name == "silent":
        pass
    else:
        if name == "grow":
            EXTRA.append(f"more_{len(EXTRA)}")
        if name in ("change", "quiet"):
            WORDS["echo"] += " Changed."
        if name in ("grow", "change"):
            for meta in LISTENING or [{}]:
                send(method="notifications/tools/list_changed", params=meta)
        send(id=id, result=words(str(arguments.get("text", "done"))))


def answer(message: dict[str, Any]) -> None:
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None:
        if id in STOPPED:
            send(id=STOPPED[id], result=words(json.dumps(message.get("result") or message.get("error"))))
    elif method == OPTIONS.get("die"):
        sys.stderr.write(f"dying at {method}\n")
        sys.stderr.flush()
        os._exit(4)
    elif "mute" in OPTIONS:
        pass
    elif method == "initialize" and "modern" in OPTIONS:
        data = {"supported": [MODERN], "requested": params["protocolVersion"]}
        send(id=id, error={"code": -32022, "message": "too old", "data": data})
    elif method == "server/discover" and "modern" in OPTIONS:
        found = {"supportedVersions": [MODERN], "capabilities": CAPABILITIES, "ttlMs": 0, "cacheScope": "private"}
        send(id=id, result={"resultType": "complete", **found})
    elif method == "subscriptions/listen" and "modern" in OPTIONS:
        LISTENING.append({"_meta": {SUBSCRIPTION: id}})
        params = {**LISTENING[-1], "notifications": params["notifications"]}
        send(method="notifications/subscriptions/acknowledged", params=params)
    elif method == "initialize":
        send(
            id=id,
            result={
                "protocolVersion": params["protocolVersion"],
                "capabilities": CAPABILITIES,
                "serverInfo": {"name": "line server", "version": "1"},
                "instructions": "Be kind.",
            },
        )
    elif method == "tools/list":
        send(id=id, result=listing(params))
    elif method == "tools/call":
        call(id, params)
    elif method == "prompts/list":
        send(id=id, result={"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]})
    elif method == "prompts/get":
        said = f"Hello {params.get('arguments', {}).get('who', 'you')}"
        send(id=id, result={"messages": [{"role": "user", "content": {"type": "text", "text": said}}]})
    elif method == "resources/list":
        send(id=id, result={"resources": [{"uri": "note://1", "name": "one"}]})
    elif method == "resources/templates/list":
        send(id=id, result={"resourceTemplates": [{"uriTemplate": "note://{id}", "name": "notes"}]})
    elif method == "resources/read":
        send(id=id, result={"contents": [{"uri": params["uri"], "text": f"at {params['uri']}"}]})
    elif method == "ping":
        send(id=id, result={})
    elif method == "notifications/cancelled":
        note("calls", f"cancelled {params.get('requestId')}")
        STOPPED.setdefault(params.get("requestId"), threading.Event()).set()
    elif id is not None and "deaf" not in OPTIONS:
        send(id=id, error={"code": -32601, "message": f"no method {method}"})


def main() -> None:
    note("lives", str(os.getpid()))
    time.sleep(float(OPTIONS.get("start", 0)))
    while "waits" in OPTIONS and not os.path.exists(OPTIONS["waits"]):
        time.sleep(0.01)
    first = True
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if first and "strict" in OPTIONS and message.get("method") != "initialize":
            sys.exit("initialize comes first")
        first = False
        answer(message)


if __name__ == "__main__":
    main()
