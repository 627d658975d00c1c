"""Your own tool class: an object with state, whose methods are tools.

    python examples/custom_tool.py
    python examples/custom_tool.py mistral:mistral-small-latest

Give the agent bound methods, so that each agent can have an object of its own. A tool that is described by a JSON
Schema and not by a typed function is a `ToolDefinition`.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import toolwire
from toolwire.agent.events import RunEnd, ToolFinished, ToolProgress

MODEL = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TOOLWIRE_MODEL", "local")


class Shop:
    """A shop with a stock."""

    def __init__(self, stock: dict[str, int]) -> None:
        self.stock = stock

    @toolwire.tool(risk="read")
    def in_stock(self, article: str) -> int:
        """How many pieces of an article are in stock."""
        return self.stock.get(article, 0)

    @toolwire.tool(risk="write", timeout=10, exclusive=True)
    async def order(self, article: str, pieces: int) -> AsyncIterator[str]:
        """Order pieces of an article."""
        toolwire.progress(f"ordering {pieces}")  # shown while the tool runs
        await asyncio.sleep(0.1)
        self.stock[article] = self.stock.get(article, 0) + pieces
        yield f"{self.stock[article]} in stock now"


def price(arguments: dict[str, Any]) -> str:
    return f"{len(arguments['article']) * 10} euros"


PRICE = toolwire.ToolDefinition(
    name="price",
    description="Price of an article.",
    parameters={"type": "object", "properties": {"article": {"type": "string"}}, "required": ["article"]},
    risk=toolwire.Risk.READ,
    call=price,
)


async def allow(request: toolwire.ApprovalRequest) -> bool:
    pieces: int = request.invocation.arguments["pieces"]
    return pieces <= 10  # larger orders are denied


async def main() -> None:
    shop = Shop({"lamp": 3})
    async with toolwire.Agent(MODEL, [shop.in_stock, shop.order, PRICE], approve=allow) as agent:
        async for event in agent.run("Look how many pieces of the article lamp are in stock, and order 5 more."):
            match event:
                case ToolProgress():
                    print(f"… {event.text}")
                case ToolFinished():
                    print(f"{event.result.name}: {event.result.content}")
                case end if isinstance(end, RunEnd):
                    print(end)


asyncio.run(main())
