"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

JobFile = Annotated[Path, typer.Argument(metavar="JOB", help="The job file (YAML).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print results as JSON.")]
Verbose = Annotated[int, typer.Option("-v", "--verbose", count=True, help="Log more; twice logs every call.")]
LogFormat = Annotated[str, typer.Option("--log-format", help="Format of log lines: console or json.")]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="Show no progress.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Accept = Annotated[bool, typer.Option("--accept-changes", help="Continue after a safety stop.")]
Continue = Annotated[
    bool, typer.Option("--continue-parked", help="Continue even if the first 25 assets are parked for the same cause.")
]
Full = Annotated[bool, typer.Option("--full", help="Read and map every asset again.")]
Repair = Annotated[
    bool, typer.Option("--repair", help="Also read every asset at the target, and restore what was changed there.")
]
Html = Annotated[Path | None, typer.Option("--html", help="Write the report to this HTML file.")]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="ID", help="Only this asset; may be repeated.")]
