"""An agent on a web page: every event is sent to the browser as it happens, as server-sent events.

    python examples/web_stream.py
    python examples/web_stream.py anthropic:claude-sonnet-4-5

Then open the address that is printed. PORT sets the port (default: 8000). The server listens on this machine only.
"""

import os
import sys
from contextlib import aclosing

import msgspec
from aiohttp import web

import toolwire

MODEL = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TOOLWIRE_MODEL", "local")
PAGE = """<!doctype html><title>Toolwire</title>
<form><input name="prompt" size="60" value="What is the weather in Paris?"><button>Send</button></form>
<pre id="calls"></pre><p id="answer"></p>
<script>
const show = (id, text) => { document.getElementById(id).textContent += text };
document.forms[0].onsubmit = submit => {
  submit.preventDefault();
  const kinds = {};
  const source = new EventSource("/run?" + new URLSearchParams(new FormData(submit.target)));
  source.onerror = () => source.close();  // the end; without this the browser would ask again
  source.onmessage = message => {
    const event = JSON.parse(message.data);
    if (event.type == "start") kinds[event.segment_id] = event.segment_type;
    if (event.type == "start" && event.tool_name) show("calls", event.tool_name + " ");
    if (event.type == "content") show(kinds[event.segment_id] == "text" ? "answer" : "calls", event.delta);
    if (event.type == "tool_finished") show("calls", " → " + event.result.content + "\\n");
    if (event.type == "run_failed") show("answer", event.error.message);
  };
};
</script>"""


@toolwire.tool(risk="read")
def get_weather(city: str) -> str:
    """Weather for a city."""
    return f"18 °C and sunny in {city}"


async def page(request: web.Request) -> web.Response:
    return web.Response(text=PAGE, content_type="text/html")


async def run(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    async with (
        toolwire.Agent(MODEL, [get_weather]) as agent,
        aclosing(agent.run(request.query["prompt"])) as events,  # ends the run when the browser goes away
    ):
        async for event in events:
            await response.write(b"data: " + msgspec.json.encode(event) + b"\n\n")
    return response


app = web.Application()
app.router.add_get("/", page)
app.router.add_get("/run", run)
web.run_app(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
