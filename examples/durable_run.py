"""A durable run: it waits for approval without any process, and continues where it was when you answer.

    pip install 'toolwire[durable]'
    python examples/durable_run.py        # runs until the model wants to publish, and ends
    python examples/durable_run.py yes    # a minute or a week later: approves, and continues

The run is in runs.db, so it also survives a crash: what was done is not done again. TOOLWIRE_MODEL sets the model.
"""

import asyncio
import os
import sys

import toolwire
from toolwire.durable import DurableAgent, Runs, RunSpec, Worker, Workplace
from toolwire.transport import AiohttpTransport

MODEL = os.environ.get("TOOLWIRE_MODEL", "local")
DATABASE = "sqlite:///runs.db"


@toolwire.tool(risk="network")
def publish(title: str) -> str:
    """Publish the page with this title."""
    print(f"publishing {title}")
    return f"{title} is published"


def make_agent(spec: RunSpec, place: Workplace) -> toolwire.Agent:
    transport = place.transport(AiohttpTransport())
    return toolwire.Agent(MODEL, [publish], transport=transport, approve=place.person, steps=place.steps)


async def main(answer: str) -> None:
    worker = Worker(DATABASE, [DurableAgent("publisher", make_agent)])
    working = asyncio.create_task(worker.run())  # usually a process of its own, on this machine or on others
    async with Runs(DATABASE) as runs:
        run = await runs.submit("Publish the page with the title 'Notes'.", agent="publisher", id="publish-notes")
        while not run.state.is_over:
            for question in await runs.questions(run.id):
                if not answer:
                    print(f"Waiting for approval of: {question.request and question.request.shown}")
                    worker.stop()
                    return await working
                yes = toolwire.Answer(allowed=answer == "yes")
                await runs.answer(run.id, question.id, yes, digest=question.digest)
            await asyncio.sleep(0.2)
            run = await runs.get(run.id)
        print(f"{run.state}: {run.text or run.error}")
    worker.stop()
    await working


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ""))
