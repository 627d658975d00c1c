"""Structured output: extract a typed record from each text, and let the model correct what fails validation.

    python examples/structured_loop.py openai:gpt-4.1-mini

The record is the argument of a tool that the model must call. Arguments that do not fit the schema, and records that
the tool rejects, go back to the model with the reason.
"""

import asyncio
import os
import sys
from datetime import date

from pydantic import BaseModel, Field

import toolwire

MODEL = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TOOLWIRE_MODEL", "openai:gpt-4.1-mini")
MAILS = [
    "Invoice 17 of 3 March 2026: 2 lamps at 40 each, 1 desk at 120. Please pay 200 euros.",
    "Hi, here is no. 18, written on 2026-03-05: three chairs for 90 apiece. Makes 270. Thanks!",
]


class Item(BaseModel):
    """A line of an invoice."""

    name: str
    count: int = Field(ge=1)
    price: float


class Invoice(BaseModel):
    """What is extracted."""

    number: int
    day: date
    items: list[Item] = Field(min_length=1)
    total: float


async def extract(text: str) -> Invoice | None:
    found: list[Invoice] = []

    @toolwire.tool(risk="read")
    def record(invoice: Invoice) -> str:
        """Record the invoice."""
        if (total := sum(item.count * item.price for item in invoice.items)) != invoice.total:
            raise ValueError(f"the items add up to {total}, not {invoice.total}: correct it and record it again")
        found.append(invoice)
        return "recorded"

    agent = toolwire.Agent(MODEL, [record], tool_choice="record", bounds=toolwire.Bounds(turns=5))
    async with agent:
        async for _ in agent.run(f"Record this invoice:\n{text}"):
            if found:
                break  # no further request: the answer is not needed
    return found[0] if found else None


async def main() -> None:
    for mail in MAILS:
        invoice = await extract(mail)
        print(invoice.model_dump_json() if invoice else f"nothing found in: {mail}")


asyncio.run(main())
