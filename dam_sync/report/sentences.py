"""The notes of a report: what a run has to report besides its counts. Each function returns no lines if there is
nothing to report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from dam_sync.model.limits import CountedCalls
from dam_sync.model.run_options import MEMBERSHIPS, RESTORED, ROTATION
from dam_sync.model.wording import agreed, bytes_text, counted, such_as

_NAMED = 3  # containers

RETRIED = {
    "passed": "the failure may have been temporary",
    "changed": "the mapping changed",
    "decided": "conflicts were decided, or their policy changed",
}


def about_allowance(role: str, needed: int, left: int, allowance: int, renewed: datetime) -> str:
    """A run that needs more calls than are left in this month."""
    return (
        f"the run needs about {counted(needed, 'call')} to the {role}, and {max(0, left):,} of its monthly allowance "
        f"of {allowance:,} are left until {renewed:%Y-%m-%d}: it will stop before it exceeds them, to be resumed then"
    )


def about_counted_calls(counted_calls: CountedCalls | None) -> list[str]:
    """What the service counted of a monthly allowance. The option is named where the job leaves it out: what exceeds an
    allowance may cost money."""
    if counted_calls is None:
        return []
    used, option, calls = counted_calls.used, counted_calls.option, counted_calls.calls
    span = f"{counted_calls.since:%Y-%m-%d} to {counted_calls.until:%Y-%m-%d %H:%M} UTC"
    sent = f"the service counted {counted(used, 'API call')} of this account from {span}"
    if calls is None:
        return [f"{sent}; no monthly allowance is kept to, because the option {option} is not set"]
    return [f"{sent}, of a monthly allowance of {calls:,}: {max(0, calls - used):,} are left ({option})"]


def about_accepted(findings: Iterable[str]) -> list[str]:
    """Guard findings that the operator accepted."""
    return [f"continued because changes are accepted: {finding}" for finding in findings]


def about_resumed(run: int, done: int) -> list[str]:
    """For a plan of the rest of an interrupted run."""
    return [f"continues run {run}, which was stopped: {done:,} of its assets are done"] if done else []


def about_processes(number: int, killed: int, seconds: float) -> list[str]:
    """For a run of several processes, `killed` of which did not come to record the last `seconds` of their work."""
    if number < 2:
        return []
    ended = counted(killed, "that was killed", "that were killed")
    lost = f", except for at most {seconds:.0f} s at the end of {ended}" if killed else ""
    return [f"the run was resumed: its API calls, bytes and time are those of all {number:,} processes{lost}"]


def about_lag(number: int, agreed: int, seconds: float) -> list[str]:
    """For a verification soon after a run: assets that differed and were compared again, and how many agreed then."""
    compared = counted(number, "asset differed at first and was", "assets differed at first and were")
    return [
        f"{compared} compared again within {seconds:.0f} s, because the search index of the target may "
        f"run behind the last run: {agreed:,} agreed then"
    ]


def about_left_out(left: Mapping[str, int]) -> list[str]:
    """Assets that are not selected, by the condition of `select` in the mapping file."""
    if not left:
        return []
    number = sum(left.values())
    by = ", ".join(f"{condition} {assets:,}" for condition, assets in left.items())
    return [f"{counted(number, 'asset is', 'assets are')} not selected, left out by `select`: {by}"]


def about_unsorted(number: int) -> list[str]:
    """For a verification of one wave: assets of the source that belong to no wave yet."""
    if not number:
        return []
    what = counted(number, "asset of the source was", "assets of the source were")
    return [f"{what} not compared: no run has listed them yet, and the next one finds which wave they belong to"]


def about_unread(containers: Sequence[str]) -> list[str]:
    """Containers of which the service does not say what is in them."""
    if not containers:
        return []
    what = counted(len(containers), "container was", "containers were")
    more = f"; and {len(containers) - _NAMED} more" if len(containers) > _NAMED else ""
    return [
        f"{what} not read, so its assets count as those of the last run: {'; '.join(containers[:_NAMED])}{more}. "
        "Give the user of the job access to these assets, or empty the container"
    ]


def about_followed(*, same: bool) -> list[str]:
    """For a run of a plan. same: it made exactly the operations that the plan lists."""
    if same:
        return ["the run did exactly what its plan lists, operation by operation"]
    return [
        "the run did not do everything that its plan lists: what the target refused is parked. Nothing was done that "
        "the plan does not list"
    ]


def about_retried(retried: Mapping[str, int]) -> list[str]:
    """Assets parked before that are tried again, by the reason."""
    return [
        f"{counted(number, 'asset that was parked is', 'assets that were parked are')} tried again: {RETRIED[why]}"
        for why, number in retried.items()
        if number
    ]


def unseen_parts(parts: Sequence[str]) -> str:
    """Parts of assets whose changes a listing by date does not return."""
    what = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    return f"changes of {what} alone do not change an asset's date"


def about_unseen(parts: Sequence[str], rotation: int | None) -> list[str]:
    """Changes that a listing by date does not return. rotation: in how many runs everything is compared, if at all."""
    if not parts:
        return []
    finds = (
        f"the rotation finds them within {counted(rotation, 'run')}" if rotation else "only `run JOB --full` finds them"
    )
    return [f"{unseen_parts(parts)} at the source: {finds}"]


def about_not_renamed(
    kept: Mapping[tuple[str, str], int], examples: Mapping[tuple[str, str], Sequence[str]]
) -> list[str]:
    """Terms and containers with another name at the source that keep theirs at the target, by kind and reason."""
    notes = []
    for (kind, why), number in sorted(kept.items()):
        renamed = counted(number, f"{kind} renamed at the source was", f"{kind} renamed at the source were")
        notes.append(f"{renamed} not renamed at the target{such_as(examples[kind, why], number)}: {why}")
    return notes


def about_read_again(found: Mapping[str, int], rotation: Sequence[int] | None) -> list[str]:
    """Assets that are read again by their ids, by reason. rotation: which part, counted from 0, of how many."""
    restored = "they left the trash of the source, or other versions of them are there"
    whys = ((MEMBERSHIPS, "their containers changed"), (RESTORED, restored))
    notes = [
        f"{counted(found[one], 'asset is', 'assets are')} read again: {why}" for one, why in whys if found.get(one)
    ]
    if rotation:
        part, parts = rotation
        notes.append(f"rotation, part {part + 1} of {parts}: {found.get(ROTATION, 0):,} known assets are compared")
    return notes


def about_writer(state: str, writer: str, job: str) -> list[str]:
    """A state that a job of another name wrote. writer: its name, empty if there is none."""
    text = (
        f"the state {state} was written by a job called {writer}, and this one is called {job}: unless the job was "
        "renamed, correct `state:` in the job file"
    )
    return [text] if writer else []


def about_corrections(values: int, assets: int) -> list[str]:
    """Values that people gave in place of failed ones."""
    if not values:
        return []
    stand = counted(values, "value corrected by hand stands", "values corrected by hand stand")
    whose = counted(assets, "asset")
    return [f"{stand} in place of what the source says of {whose}: `errors JOB --corrections` lists them"]


def about_relations(unwritten: Iterable[tuple[str, int]]) -> list[str]:
    """Relations that were not written, by the reason."""
    return [
        f"{counted(number, 'relation was', 'relations were')} refused: {why}"
        if why
        else f"{counted(number, 'relation waits', 'relations wait')} for an asset that was not moved"
        for why, number in unwritten
    ]


def about_disappeared(gone: int, fresh: int, examples: Sequence[str], *, removes: bool = False) -> list[str]:
    """Assets that are gone from the source, `fresh` of them since the last run. removes: the policy removes them."""
    new = f", {fresh:,} of them since the last run" if fresh else ""
    moved = counted(gone, "asset moved before is", "assets moved before are")
    stay = agreed(gone, "it stays in", "they stay in")
    fate = agreed(gone, "it is still in", "they are still in") if removes else stay
    return [f"{moved} gone from the source{such_as(examples, gone)}{new}; {fate} the target"]


def about_probation(number: int, until: str) -> list[str]:
    """New assets that the target may still remove."""
    return [
        f"{counted(number, 'new asset')} may still be removed by the target as duplicates, until {until}: "
        "run `verify` after that, or run again"
    ]


def about_nothing_moved() -> list[str]:
    """A verification of a job that has put nothing into the target."""
    return ["no asset of this job is at the target, so the target was not read: only the source was listed"]


def about_repair(repaired: Mapping[str, int]) -> list[str]:
    """A plan that writes over what differs at the target."""
    if not repaired:
        return []
    return [
        "what is to be repaired is not as this job wrote it: people may have edited it, or the target changed it. The "
        "run overwrites both with what the source says; the ledger keeps what was there, and `rollback` brings it back"
    ]


def about_unfinished(run: int | None) -> list[str]:
    """A verification while a run is interrupted or under way."""
    if run is None:
        return []
    return [
        f"run {run} is not finished: what it has not written yet, memberships and relations too, counts as different"
    ]


def about_orphans(number: int) -> list[str]:
    """Upload sessions of a killed run that were aborted."""
    words = "upload session left open by a killed run was", "upload sessions left open by a killed run were"
    return [f"{counted(number, *words)} aborted"] if number else []


def about_fetched(files: int, size: int, sent: int, *, exhausted: bool = False) -> list[str]:
    """Files that the target fetched itself, and those that it was given a link to in vain. exhausted: no more links
    were given then."""
    fetched = counted(files, "file was", "files were")
    found = [f"{fetched} fetched by the target itself ({size:,} bytes), compared by size only"] if files else []
    if sent:
        those = counted(sent, "file was", "files were")
        found.append(f"{those} not fetched by the target as announced, and sent through this process instead")
    if exhausted:
        found.append(
            "several links in a row brought nothing, so that all other files went through this process: check that the "
            "target can reach the source, or leave out `policy: {bytes: pull}`"
        )
    return found


def about_fetches(files: int, size: int) -> list[str]:
    """Files that the target will fetch itself."""
    fetched = counted(files, "file will be", "files will be")
    return [f"{fetched} fetched by the target itself ({size:,} bytes), by links of the source"] if files else []


def about_no_links(obstacle: str) -> list[str]:
    """Why no file is fetched though the job says so."""
    return [f"`policy: {{bytes: pull}}` has no effect: {obstacle}"] if obstacle else []


def about_partial_creates(number: int) -> list[str]:
    """Assets of a killed run that will not be completed."""
    assets = counted(number, "asset was", "assets were")
    fate = "gone from the source or restricted there since: moved to the trash of the target"
    return [f"{assets} left incomplete by an earlier run, and {fate}"] if number else []


def about_listed_terms(assets: int, examples: Sequence[str]) -> list[str]:
    """Names of new terms that more people read than see the assets that have them."""
    those = counted(assets, "asset that not everybody may see has", "assets that not everybody may see have")
    return [
        f"{those} new terms, and everybody who sees the lists of the target reads their names there"
        f"{such_as(examples, assets)}: to keep one out, leave it out in the mapping (`when`, a lookup), or pin it to a "
        "term that may be seen"
    ]


def about_held(number: int) -> list[str]:
    """Matches that an exposure rule holds back."""
    if not number:
        return []
    assets = counted(number, "source asset is", "source assets are")
    return [
        f"{assets} at the target and not linked, because more people see {agreed(number, 'it', 'them')} there: "
        "restrict them there, or let the job `close` the rule, then adopt again; accept it only if these people may "
        "see them; a run stops until then"
    ]


def about_shown(to_hide: int, to_limit: int, accepted: Mapping[str, int]) -> list[str]:
    """Adopted assets that more people see at the target than the job says, or than at the source: these by rule."""
    kinds = (
        (to_hide, "visible at the target and the job closes {}", "hides"),
        (to_limit, "shown to more people at the target than the job says", "limits"),
    )
    notes = []
    for number, fact, verb in kinds:
        if number:
            them, matched = agreed(number, "it", "them"), counted(number, "matched asset is", "matched assets are")
            notes.append(f"{matched} {fact.format(them)}: the next run {verb} {them}")
    for rule, number in accepted.items():
        matched = counted(number, "matched asset is", "matched assets are")
        notes.append(f"{matched} seen by more people than at the source, which the job accepts: {rule}")
    return notes


def about_adopted(differing: int, ambiguous: int) -> list[str]:
    """Matches that a person should review."""
    notes = []
    if differing:
        notes.append(
            f"{differing:,} of the matched target assets {agreed(differing, 'differs', 'differ')} from what a run "
            "would write: `verify JOB` shows where. A normal run adds missing attachments, file versions and "
            "relations, to such an asset also missing terms and containers, and leaves the rest as it is; `run JOB "
            "--repair` overwrites it with what the source says, whoever wrote it: `plan JOB --repair` lists that first"
        )
    if ambiguous:
        notes.append(
            f"{counted(ambiguous, 'source asset matches', 'source assets match')} several target assets, or without "
            f"proof, and {agreed(ambiguous, 'was', 'were')} not linked: write them with --csv FILE, write `link` or "
            "`skip` into the column `decision`, and pass the file to --decisions"
        )
    return notes


def about_originals(number: int, shown: int) -> list[str]:
    """Originals of assets of the source that are not what their copies say. shown: to more people than these."""
    if not number:
        return []
    differing = counted(number, "asset of the target differs", "assets of the target differ")
    more = f"; {shown:,} of them {agreed(shown, 'is', 'are')} seen by more people than the copy" if shown else ""
    return [
        f"{differing} from what another job made of {agreed(number, 'it', 'them')}: each value that differs stays as "
        f"it is, also in a repair, until the source changes it{more}"
    ]


def about_uncompared(number: int) -> list[str]:
    """Matched assets whose files were compared by size alone."""
    if not number:
        return []
    has = agreed(number, "has a file", "have files")
    return [
        f"{number:,} of the matched target assets {has} of the same size and no digest to compare them by: "
        "`verify JOB --level bytes` reads both sides"
    ]


def about_enlarged(number: int) -> list[str]:
    """Links to previews of which the target has none."""
    if not number:
        return []
    one, several = "link to a preview becomes", "links to previews become"
    return [
        f"{counted(number, one, several)} the file itself, because the target shows no preview of the asset that is "
        "not cropped and says its width: pages would load the whole file"
    ]


def about_linked(number: int) -> list[str]:
    """Target assets that have a link from before."""
    one = "asset of the target is linked already: its link stays as it is"
    several = "assets of the target are linked already: their links stay as they are"
    return [counted(number, one, several)] if number else []


def about_unclaimed(number: int, examples: Sequence[str]) -> list[str]:
    """Target assets with a marker of ours that no source asset matches."""
    if not number:
        return []
    return [
        f"{counted(number, 'target asset has', 'target assets have')} a marker of this source without an asset of it "
        f"({', '.join(examples)}): these are gone from the source, or are not visible to the credential"
    ]


def about_combined(role: str, calls: Mapping[str, int], at_least: Mapping[str, str]) -> list[str]:
    """For a plan: which of its calls are a lower bound, and why."""
    if not at_least:
        return []
    takes = "; ".join(f"`{call}` ({calls[call]:,}) takes {what}" for call, what in at_least.items())
    return [
        f"the API calls to the {role} are a lower bound, because some are combined: {takes}. The plan counts full "
        "calls, and the run sends what is ready at the same time: more calls the smaller the library and the slower a "
        "service"
    ]


def about_costs(unstated: Sequence[str]) -> list[str]:
    """For a plan: services whose connectors do not state what their calls cost."""
    return [
        f"the connector of the {role} does not state its API calls: the calls and the duration of this plan leave out "
        f"{'what a run writes to it' if role == 'target' else 'the files that a run opens'}"
        for role in unstated
    ]


def about_estimate(untimed: int, assumed_seconds: float | None, largest: int, room: int) -> list[str]:
    """What an estimate leaves out or assumes. untimed: bytes whose transfer is not in it; assumed_seconds: of each call
    where none was measured; largest, room: bytes of the largest file, and free on the disk of the state."""
    notes = []
    if untimed:
        notes.append(
            f"the estimate of time leaves out the transfer of {bytes_text(untimed)}, because no speed is known: set "
            "`limits: {bandwidth: 50MB/s}` to include it"
        )
    if assumed_seconds is not None:
        notes.append(f"no call to the target was measured: the estimate takes {assumed_seconds} s for each")
    if largest > room:
        notes.append(
            f"the largest file has {bytes_text(largest)} and the disk of the state has {bytes_text(room)} free: a "
            "file that cannot be read by ranges is kept there while it is moved"
        )
    return notes


def about_webhooks(source: str, *, offered: bool) -> list[str]:
    """What follows from `webhooks` in a job file."""
    if not offered:
        return [f"{source} has no webhooks: its changes are found by the schedule"]
    return ["with `watch`, changes that webhooks of the source report are moved at once, without a listing"]


def about_rehearsal(unlike: Sequence[str], sample: str, *, placeholders: bool) -> list[str]:
    """What a rehearsal did in another way than a run would. unlike: what the emulated target has in another way."""
    share = "" if sample == "100%" else f" with {sample} of the assets"
    files = ", generated files in place of the source's" if placeholders else ""
    return [
        f"this was a rehearsal{share} into an emulated target{files}: nothing was written to the target of the job",
        *(f"the emulated target differs from the target: {line}" for line in unlike),
    ]
