"""Arguments and options that several commands take, each defined once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dam_sync.cli import completion

OTHER_FORMS = frozenset({".json", ".html", ".htm"})  # ends of names of files that are no tables
WRITTEN = frozenset({"html", "csv", "csv_file", "output", "out", "nginx", "apache", "log_file"})  # paths written to
READ = frozenset(  # paths read from, and the folder of a demo
    {"job", "jobs", "mapping", "plan", "decisions", "filled", "import_", "file", "faults", "load", "files", "folder"}
)

JobFile = Annotated[Path, typer.Argument(metavar="JOB", help="The job file (YAML).")]
Ids = Annotated[bool, typer.Option("--ids", help="Show the ids of assets beside their names.")]


@dataclass(frozen=True, slots=True)
class SharedOption:
    """An option of several commands. name: its keyword, which for those of a run is a field of `RunOptions`."""

    name: str
    annotation: Any
    default: Any


def _of(name: str, kind: Any, default: Any, *flags: str, **texts: Any) -> SharedOption:
    return SharedOption(name, Annotated[kind, typer.Option(*flags, **texts)], default)


COMMON = (
    _of("as_json", bool, False, "--json", help="Print results as JSON."),
    _of("no_progress", bool, False, "--no-progress", help="Show no progress."),
    _of("verbose", int, 0, "-v", "--verbose", count=True, help="Log more; twice logs every call."),
    _of("log_format", str, "console", "--log-format", help="Format of log lines: console or json."),
    _of("log_file", Path | None, None, "--log-file", help="Append the log to this file instead of stderr."),
    _of("yes", bool, False, "--yes", help="Do not ask for confirmation. Only a terminal is asked."),
)
CSV = _of("csv", Path | None, None, "--csv", help="Write a row per asset to this CSV file.")
ACCEPT = _of("accept_changes", bool, False, "--accept-changes", help="Continue after a safety stop.")
HTML = _of("html", Path | None, None, "--html", help="Write the report to this HTML file.")
RUN = (
    _of("full", bool, False, "--full", help="Read and map every asset again."),
    _of(
        "repair",
        bool,
        False,
        "--repair",
        help="Also read every asset at the target, and overwrite what was changed there, by people too.",
    ),
    _of("only", list[str] | None, None, "--only", metavar="ID", help="Only this asset; may be repeated."),
    HTML,
    ACCEPT,
    _of(
        "continue_parked",
        bool,
        False,
        "--continue-parked",
        help="Continue even if the first 25 assets are parked for the same cause.",
    ),
)
NAME_OF_WAVE: dict[str, Any] = {"metavar": "NAME", "autocompletion": completion.wave}
WAVE = _of("wave", str, "", "--wave", help="This wave of the job; by default the next one.", **NAME_OF_WAVE)
WAVE_ALONE = _of("wave", str, "", "--wave", help="Only this wave of the job.", **NAME_OF_WAVE)
PLAN = (
    _of(
        "output",
        Path | None,
        None,
        "-o",
        "--output",
        help="Write the plan to this file, for `run --plan`; .csv and .html as --csv and --html.",
    ),
    _of("limit", int | None, None, "--limit", min=1, help="Plan at most N assets."),
    _of("sample", str, "", "--sample", help="Plan only this share of the assets, for example 2%."),
    CSV,
    WAVE,
    *RUN,
)
FOLLOW = (
    _of("plan", Path | None, None, "--plan", help="Do exactly what this plan says; refuse it if it is out of date."),
    CSV,
)
BOUNDS = (
    _of("limit", int | None, None, "--limit", min=1, help="Move at most N assets."),
    _of("max_calls", int | None, None, "--max-calls", min=1, help="Maximum number of API calls to each service."),
    _of("max_duration", str | None, None, "--max-duration", help="Stop after 90s, 30m, 8h …"),
)
WORKERS = (
    _of("workers", int | None, None, "--workers", min=1, max=64, help="Write with N processes of this computer."),
    _of(
        "cluster", str, "", "--cluster", metavar="URL", help="Write with the workers of this Dask scheduler (tls://…)."
    ),
)
