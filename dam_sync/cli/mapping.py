"""The group `map`: tools for the mapping of a job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dam_sync.cli.command import command, execute
from dam_sync.cli.options import JobFile
from dam_sync.cli.usage import CommandGroup
from dam_sync.model.safe_text import shown_name
from dam_sync.model.wording import agreed, counted, timestamp_text
from dam_sync.report.next_step import after_map, after_map_diff, after_sheet
from dam_sync.report.output import Output

if TYPE_CHECKING:
    from dam_sync.api.mapping_tools.suggest import SuggestedMapping
    from dam_sync.model.run_options import RunOptions

map_ = typer.Typer(
    cls=CommandGroup, help="Suggest, check, test and compare the mapping of a job.", no_args_is_help=True
)
SHOWN = 40  # characters of a value in a table


@command()
def suggest(
    output: Output,
    job: JobFile,
    marker: Annotated[str, typer.Option("--marker", help="The key of the target's field for the marker.")] = "",
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Write the mapping to this new file.")] = None,
) -> None:
    """Suggest a mapping from both schemas and some assets, with a score and a reason for each line. Changes no file
    that exists."""
    from dam_sync.api.mapping_tools.suggest import suggest_mapping

    async def act(options: RunOptions) -> int:
        found = await suggest_mapping(job, options, marker, out)
        if output.as_json:
            output.data(found.as_json())
        elif out is None:
            output.say(found.suggestion.text().rstrip("\n"))
        _note_open(output, found)
        if out is not None:
            output.note(f"written: {out}")
        output.next(*after_map(str(job), "suggest"))
        return 0

    execute(output, act, repeats=True)


def _note_open(output: Output, found: SuggestedMapping) -> None:
    """What the suggestion leaves to people."""
    optional = [key for key in found.unwritten if key not in found.required]
    lists = (
        ("required by the target, and nothing of the source fits", sorted(found.required)),
        ("fields of the target that no line writes", optional),
        ("fields of the source that no line reads", found.unread),
    )
    for title, keys in lists:
        if keys:
            output.note(f"{title}: {', '.join(map(shown_name, keys))}")


@command()
def check(output: Output, job: JobFile) -> None:
    """Compile the mapping against both schemas: every fault at once, with file and line."""
    from dam_sync.api.mapping_tools.check import check_mapping

    async def act(options: RunOptions) -> int:
        notes = await check_mapping(job, options)
        if output.as_json:
            output.data({"ok": True, "notes": list(notes)})
        else:
            output.say("\n".join(["the mapping fits both schemas", *(f"note: {note}" for note in notes)]))
        output.next(*after_map(str(job), "check"))
        return 0

    execute(output, act, repeats=True)


@command()
def test(output: Output, job: JobFile) -> None:
    """Run the examples of the mapping file."""
    from dam_sync.api.mapping_tools.check import test_mapping

    async def act(options: RunOptions) -> int:
        number = await test_mapping(job, options)
        if output.as_json:
            output.data({"ok": True, "examples": number})
        else:
            none = "the mapping has no examples; `dam-sync help mapping` shows them under `tests`"
            output.say("1 example holds" if number == 1 else f"all {number} examples hold" if number else none)
        output.next(*after_map(str(job), "test"))
        return 0

    execute(output, act, repeats=True)


@command()
def diff(
    output: Output,
    job: JobFile,
    mapping: Annotated[Path, typer.Argument(metavar="MAPPING", help="The changed mapping file.")],
    sample: Annotated[
        str, typer.Option("--sample", help="Keep this share of the assets (2%), or the first so many (500).")
    ] = "2000",
    refresh: Annotated[bool, typer.Option("--refresh", help="Take a new sample, though one is kept.")] = False,
) -> None:
    """Show how many assets and values a changed mapping would change. Without calls, once a sample is kept."""
    from dam_sync.api.mapping_tools.diff import diff_mapping

    async def act(options: RunOptions) -> int:
        found = await diff_mapping(job, mapping, options, sample, refresh=refresh)
        if output.as_json:
            output.data(found.as_json())
        else:
            of = "all" if found.whole else f"of {found.listed:,}"
            change = agreed(found.changed, "changes", "change")
            read = f"{of} assets, read {found.taken}"
            output.say(f"{found.changed:,} of {counted(found.assets, 'asset')} {change} ({read})")
            if found.moved:
                output.table("Assets", ("from, to", "assets"), [(way, f"{n:,}") for way, n in found.moved.items()])
            rows = [
                (
                    *(part["part"], f"{part['gained']:,}", f"{part['lost']:,}", f"{part['changed']:,}"),
                    *(_shown(text) for text in part["examples"][0]),
                )
                for part in found.as_json()["parts"]
            ]
            if rows:
                output.table("Values", ("part", "new", "gone", "changed", "for example", "before", "after"), rows)
        output.next(*after_map_diff(str(job), changed=bool(found.changed)))
        return 3 if found.changed else 0

    execute(output, act, repeats=True)


@command()
def sheet(
    output: Output,
    job: JobFile,
    out: Annotated[
        Path | None, typer.Option("--csv", "-o", "--output", help="Write all terms to this CSV file.")
    ] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", help="Add the decisions of such a file to the pins of the mapping.")
    ] = None,
    refresh: Annotated[bool, typer.Option("--refresh", help="Read both services, though a sample is kept.")] = False,
) -> None:
    """Write the vocabularies as CSV, with candidates and scores for terms that are not found, and read decisions back
    as pins."""
    from dam_sync.api.mapping_tools.sheet import import_sheet, write_sheet
    from dam_sync.model.errors import ConfigError

    async def act(options: RunOptions) -> int:
        if (out is None) == (import_ is None):
            raise ConfigError("map sheet takes either --csv FILE or --import FILE")
        if out is not None:
            done = await write_sheet(job, options, out, refresh=refresh)
            counts = {way or "not found": number for way, number in done.ways.items()}
            read = f"both services as read at {timestamp_text(done.taken)}; `--refresh` reads them again"
            lines = [f"{counted(number, 'term')}: {way}" for way, number in counts.items()]
            output.data(counts) if output.as_json else output.say("\n".join([*lines, read, f"written: {out}"]))
            output.next(*after_sheet(str(job), out))
        elif import_ is not None:
            found = await import_sheet(job, options, import_, refresh=refresh)
            pins = {str(file): number for file, number in found.changed.items()}
            lines = [f"{counted(number, 'pin')} added or changed in {file}" for file, number in pins.items()]
            none = "nothing was changed: the column decision is empty in every line"
            output.data(pins) if output.as_json else output.say("\n".join(lines or [none]))
            for line in found.unread:
                output.note(f"the mapping does not read these pins yet: write into its vocabularies {line}")
            output.next(*(after_map(str(job), "pins") if pins else after_sheet(str(job), import_)))
        return 0

    execute(output, act, repeats=True)


def _shown(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


for function in (suggest, check, test, diff, sheet):
    map_.command()(function)
