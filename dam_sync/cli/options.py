"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

JobFile = Annotated[Path, typer.Argument(metavar="JOB", help="The job file (YAML).")]
AsJson = Annotated[bool, typer.Option("--json", help="Results as JSON on stdout.")]
Verbose = Annotated[int, typer.Option("-v", "--verbose", count=True, help="Log more; twice logs every call.")]
LogFormat = Annotated[str, typer.Option("--log-format", help="console or json.")]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="No progress on stderr.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Accept = Annotated[bool, typer.Option("--accept-changes", help="Continue where a guard stopped the run.")]
Continue = Annotated[
    bool, typer.Option("--continue-parked", help="Continue where the first 25 assets are parked for one cause.")
]
Full = Annotated[bool, typer.Option("--full", help="Read and map every asset again.")]
Repair = Annotated[
    bool, typer.Option("--repair", help="Also read every asset at the target, and set right what was changed there.")
]
Html = Annotated[Path | None, typer.Option("--html", help="Write the report as HTML.")]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="ID", help="Only this asset; may be repeated.")]
