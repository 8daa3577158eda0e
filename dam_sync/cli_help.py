"""`dam-sync help`: the documents of the package, in the terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from dam_sync.help import text_of, topics
from dam_sync.model.errors import ConfigError
from dam_sync.report.output import Output


def help_(
    output: Output, topic: Annotated[str, typer.Argument(help="What to read about; none lists the topics.")] = ""
) -> None:
    """Print a help topic, or list the topics."""
    try:
        text = text_of(topic) if topic else ""
    except ConfigError as error:
        output.error(error)
        raise typer.Exit(error.exit_code) from None
    if output.as_json:
        output.data({"topic": topic, "text": text} if topic else {"topics": topics()})
    elif topic:
        output.markdown(text)
    else:
        output.table("Help topics", ("topic", "about"), list(topics().items()))
        output.note("next: dam-sync help TOPIC")
