"""Human in the loop: a callback sees every call that needs approval, and says yes or no.

    python examples/approvals.py
    python examples/approvals.py anthropic:claude-sonnet-4-5

Notes may be saved without asking, nothing may touch `.env`, and you are asked about everything else.
"""

import asyncio
import os
import sys

import toolwire

MODEL = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TOOLWIRE_MODEL", "local")
PROMPT = "Send an email with the text 'Buy milk' to ana@example.com."


@toolwire.tool(risk="write", paths=["path"])
def save(path: str, text: str) -> str:
    """Save a text in a file."""
    return f"saved {len(text)} characters in {path}"  # a demo: nothing is written


@toolwire.tool(risk="network")
def send(to: str, text: str) -> str:
    """Send a text to an email address."""
    return f"sent to {to}"  # a demo: nothing is sent


async def ask(request: toolwire.ApprovalRequest) -> bool | toolwire.Answer:
    print(f"{request.invocation.tool_name} (risk: {request.risk})\n{request.shown}")
    typed = await asyncio.to_thread(input, "Run it? [y, or why not] ")
    return True if typed == "y" else toolwire.deny(typed)  # the model is told the reason


RULES = [
    toolwire.Rule(decision=toolwire.Decision.ALLOW, tool=("save",), path=("notes/**",)),
    toolwire.Rule(decision=toolwire.Decision.DENY, path=(".env",), reason="secrets stay here"),
]

agent = toolwire.Agent(MODEL, [save, send], approve=ask, policy=toolwire.Policy("ask", RULES))
print(agent.run_sync(PROMPT))
