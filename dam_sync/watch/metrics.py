"""What `/health` and `/metrics` show of the jobs that are watched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

from dam_sync.model.values import Json
from dam_sync.watch.notifier import Notifier
from dam_sync.watch.scheduler import RunResult, reported_error
from dam_sync.watch.watched_job import WatchedJob

CONTENT_TYPE = CONTENT_TYPE_LATEST
WAITING = frozenset({RunResult.BLOCKED, RunResult.ALLOWANCE})  # for a person, or for the next month
FAILING = 3  # failures in a row from which a job is not healthy
MOVED = ("listed", "created", "updated", "removed", "unchanged", "skipped", "parked")


def is_healthy(job: WatchedJob) -> bool:
    """Whether nobody has to look after this job."""
    return job.record.result not in WAITING and job.record.failures < FAILING and job.problem is None


def health_of(jobs: Sequence[WatchedJob]) -> dict[str, Json]:
    """The state of all jobs, for `/health`."""
    return {"ok": all(map(is_healthy, jobs)), "jobs": [_job_of(job) for job in jobs]}


def _job_of(job: WatchedJob) -> dict[str, Json]:
    record, decision, error = job.record, job.decision, job.record.error
    return {
        "job": job.name,
        "ok": is_healthy(job),
        "running": job.progress is not None,
        "result": record.result.value,
        "began": _text(record.began),
        "ended": _text(record.ended),
        "last_done": _text(record.done),
        "next": None if job.progress is not None else _text(decision.at),
        "reason": decision.reason if job.progress is None else "",
        "failures": record.failures,
        "parked": dict(record.parked),
        "error": reported_error(error),
        "webhooks": str(job.webhooks.problem) if job.webhooks.problem is not None else "",
        "job_file": str(job.problem) if job.problem is not None else "",
    }


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None


class JobMetrics:
    """A collector of prometheus-client over the jobs; it keeps no counters of its own."""

    def __init__(self, jobs: Sequence[WatchedJob], notifier: Notifier) -> None:
        self._jobs = jobs
        self._notifier = notifier
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """All metrics in the OpenMetrics format."""
        return bytes(generate_latest(self._registry))  # type: ignore[no-untyped-call]

    def collect(self) -> Iterator[Metric]:
        """Called by the registry."""
        jobs = self._jobs
        yield from self._times()
        yield _gauge("running", "Whether a run is under way.", ((job, job.progress is not None) for job in jobs))
        yield _gauge(
            "blocked",
            "Whether the job waits for a person.",
            ((job, job.record.result is RunResult.BLOCKED) for job in jobs),
        )
        yield _gauge("failures", "Failed runs in a row.", ((job, job.record.failures) for job in jobs))
        yield _gauge("parked", "Parked assets.", ((job, sum(job.record.parked.values())) for job in jobs))
        yield self._counter(
            "runs", "Runs that ended, by result.", "result", {each.value: each.value for each in RunResult}
        )
        yield self._counter(
            "assets", "Assets of complete runs, by what happened to them.", "outcome", {f"assets.{k}": k for k in MOVED}
        )
        yield self._counter(
            "calls", "API calls of complete runs.", "service", {"calls.source": "source", "calls.target": "target"}
        )
        yield self._counter("bytes", "Bytes of files read.", "", {"bytes": ""})
        yield self._deliveries()
        sent = CounterMetricFamily("dam_sync_notifications", "Notifications.", labels=["result"])
        sent.add_metric(["sent"], self._notifier.sent)
        sent.add_metric(["failed"], self._notifier.failed)
        yield sent

    def _deliveries(self) -> Metric:
        metric = CounterMetricFamily(
            "dam_sync_webhooks", "Deliveries of webhooks, by what became of them.", labels=["job", "result"]
        )
        for job in self._jobs:
            for receipt, number in job.webhooks.counts.items() if job.job.config.webhooks else ():
                metric.add_metric([job.name, receipt.value], number)
        return metric

    def _times(self) -> Iterator[Metric]:
        shown: dict[str, tuple[str, Callable[[WatchedJob], datetime | None]]] = {
            "last_done_timestamp_seconds": ("End of the last complete run.", lambda job: job.record.done),
            "next_run_timestamp_seconds": ("When the next run begins.", lambda job: job.decision.at),
        }
        for name, (text, moment_of) in shown.items():
            times = ((job, moment_of(job)) for job in self._jobs)
            yield _gauge(name, text, ((job, moment.timestamp()) for job, moment in times if moment))

    def _counter(self, name: str, text: str, label: str, keys: dict[str, str]) -> Metric:
        metric = CounterMetricFamily(f"dam_sync_{name}", text, labels=["job", label] if label else ["job"])
        for job in self._jobs:
            for key, shown in keys.items():
                if key in job.totals:
                    metric.add_metric([job.name, shown] if label else [job.name], job.totals[key])
        return metric


def _gauge(name: str, text: str, values: Iterable[tuple[WatchedJob, float]]) -> Metric:
    metric = GaugeMetricFamily(f"dam_sync_{name}", text, labels=["job"])
    for job, value in values:
        metric.add_metric([job.name], float(value))
    return metric
