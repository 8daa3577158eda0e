"""The command `help`, which shows the documentation of the package."""

from __future__ import annotations

from typing import Annotated

import typer

from dam_sync.cli import completion
from dam_sync.cli.command import command, exit_on_error
from dam_sync.help import text_of, topics
from dam_sync.report.output import Output


@command()
def help_(
    output: Output,
    topic: Annotated[
        str, typer.Argument(help="The topic; leave it out to list the topics.", autocompletion=completion.topic)
    ] = "",
) -> None:
    """Print a help topic, or list the topics."""
    with exit_on_error(output):
        text = text_of(topic) if topic else ""
    if output.as_json:
        output.data({"topic": topic, "text": text} if topic else {"topics": topics()})
    elif topic:
        output.markdown(text)
    else:
        output.table("Help topics", ("topic", "about"), list(topics().items()))
        output.note("next: dam-sync help TOPIC")
