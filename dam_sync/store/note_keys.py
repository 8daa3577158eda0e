"""The keys of what `Meta` keeps: facts about the job, and notes of its runs."""

from __future__ import annotations

WATERMARK = "watermark"  # the time since when the next run lists changes
IMPORTED = "imported"  # the state was restored from an export, which may be older than the last write
PLACE = "place"  # the numbers that a server or a file system gave to the state, by which a restored one is known
ORIGIN = "origin"  # the source name used in our markers; it stays if the source is renamed
MAPPING = "mapping"  # the digest of the mapping with which assets were written
SCHEMA = "schema"  # the parts of both schemas that the mapping uses
CLOSED_LISTS = "closed lists"  # by vocabulary, the terms of the target's closed lists
FORMER_LISTS = "terms"  # the same of an earlier release: labels with a slash between them, that may also be in them
TERM_NAMES = "term names"  # the journal has no names of terms any more as an earlier release spelled them
MET_TERMS = "terms met"  # by vocabulary of the target, what terms of the source became
TRASH_SEEN = "trash seen"  # what the last listing saw in the trash of the source
PHASE = "phase"  # what the last run did last, and since when
WAITING = "waiting"  # what the last run waits for, and since when
GONE = "gone"  # how many linked assets are known to be gone from the source
REFUSED_RUN = "refused run"  # why the last run was refused before it did anything, if none began since
LISTED_WHOLE = "swept"  # the last run that listed everything
HELD_BACK = "adoption held back"  # how many matched source assets the last adoption did not link for an exposure rule
UNDECIDED = "adoption undecided"  # how many source assets the last adoption could not tell from several of the target
COMPARED = "compared"  # the source and the target whose first assets were compared before anything was created
MARKS_KNOWN = "marks"  # the target was searched for our markers before this state wrote anything
MARKS_UNTIL = "marks until"  # the time until which every asset of the target with our marker is known
DOUBLES_REPORTED = "doubles reported"  # a run was stopped before it created what the target has
ROW_COUNTS = "row counts"  # how many rows the last run left; see `store.row_counts`
CHANGED_ROWS = "changed rows"  # the tables to which something else wrote since, and how many rows they had and have
NAMES_KNOWN = "names"  # the time until which names of the target are known
NEXT_ROTATION = "rotation"  # the part that the next run compares
PARKED_BY_MAPPING = "parked by mapping"  # the mapping by which assets were parked
PARKED_BY_POLICY = "parked by conflict policy"  # the policy by which assets were parked for conflicts
RETRIED_REFUSALS = "refused asked again"  # the run that tried again what earlier ones were refused
EXPOSURE_POLICY = "exposure policy"  # policy and mapping by which assets were set aside
EXPOSURE_DUE = "exposure due"  # the first release date for which assets were set aside
MEMBER_READINGS = "member readings"  # the numbers of the readings of all memberships
UNREAD_CONTAINERS = "unread containers"  # whose members the last reading could not read, and why
SENT_CALLS = "calls"  # API calls of the last days by role and time
PACE = "pace"  # by account, the limits that were learned because none are documented
WATCHED = "watch"  # what the last `watch` did
SUBSCRIPTIONS = "webhooks"  # ids of the subscriptions, and a digest of the URL that they have
WORKERS = "workers"  # where the worker processes of a run are that did not end cleanly
WAVES = "waves"  # what the waves select, as a digest, and their names
RUNS_OF_WAVE = "runs of wave"  # of each wave, the numbers of its runs
VERIFIED_WAVE = "verified wave"  # of each wave, its last verification
SIGNED_WAVE = "signed wave"  # of each wave, who signed it off, when, and what

_OF_RUNS = ("window", "listed", "plan", "spent", "wave", "accepted")
_WINDOW, _LISTED, _PLAN, _SPENT, _WAVE, _ACCEPTED = _OF_RUNS


def tenant_key(side: str) -> str:
    """The tenant name of a side."""
    return f"tenant:{side}"


def user_key(side: str) -> str:
    """The login of a side."""
    return f"user:{side}"


def window_key(run: int) -> str:
    """What a run lists: since when, whether it reads everything, and which part it compares."""
    return f"{_WINDOW}:{run}"


def listed_key(run: int) -> str:
    """Whether one process listed everything that the run lists, without a break."""
    return f"{_LISTED}:{run}"


def plan_key(run: int) -> str:
    """The plan that a run follows."""
    return f"{_PLAN}:{run}"


def spent_key(run: int) -> str:
    """API calls, bytes and seconds that the processes of a run spent."""
    return f"{_SPENT}:{run}"


def wave_key(run: int) -> str:
    """The wave of a run."""
    return f"{_WAVE}:{run}"


def accepted_key(run: int) -> str:
    """What guards found and the operator accepted, as sentences."""
    return f"{_ACCEPTED}:{run}"


def key_of_wave(key: str, wave: str) -> str:
    """A note of which each wave has its own."""
    return f"{key}:{wave}"


def keys_of_run(run: int) -> tuple[str, ...]:
    """Every note of a run."""
    return tuple(f"{name}:{run}" for name in _OF_RUNS)
