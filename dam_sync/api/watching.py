"""What `watch` needs besides `Job.run`: its record of a job in the state, shared rates, notifications."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from standardwebhooks import Webhook
from standardwebhooks.webhooks import EmptyWebhookSecretError

from dam_sync.api.stored_job import existing_store, state_exists
from dam_sync.config.job import JobConfig
from dam_sync.config.secrets import PROGRAM
from dam_sync.engine.guards.exposure import exposure_stop
from dam_sync.http.client import Client, ClientConfig, Request
from dam_sync.http.rates.shared import JobRates, SharedRates
from dam_sync.http.redaction import redact
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError, SafetyStop, Transient
from dam_sync.model.limits import Pace
from dam_sync.model.run_options import RunOptions
from dam_sync.model.values import Json
from dam_sync.store.note_keys import SENT_CALLS, WATCHED
from dam_sync.store.store import SqlStore
from dam_sync.store.watch_lock import WatchLock

__all__ = [
    "JobRates",
    "SharedRates",
    "WatchLock",
    "deliver",
    "finished_since",
    "held_back",
    "load_record",
    "save_record",
    "signature",
]

RECENT = 20  # runs among which a run of somebody else is looked for
COMMAND_SECONDS = 60.0
ATTEMPTS = 5
PREFIX = "whsec_"


async def load_record(job: JobConfig, options: RunOptions) -> Json:
    """What `save_record` stored, None if nothing was."""
    if not await state_exists(job):
        return None
    async with existing_store(job, options.clock, read_only=True, storage=options.storage) as store:
        return await store.get_meta(WATCHED)


async def save_record(job: JobConfig, record: Json, rates: JobRates, options: RunOptions) -> None:
    """Store the record of a job and its calls in its state, also during a run; safe to repeat. Raises what the state
    raises."""
    store = await SqlStore.open(job.state_place, options.clock, storage=options.storage)
    try:
        await store.set_meta(WATCHED, record)
        if sent := rates.sent():
            await store.set_meta(SENT_CALLS, sent)
    finally:
        await store.close()


async def finished_since(job: JobConfig, moment: datetime, options: RunOptions) -> datetime | None:
    """When a complete run began that ended after this time, whoever ran it; None if there is none."""
    async with existing_store(job, options.clock, read_only=True, storage=options.storage) as store:
        for run in await store.runs(at_most=RECENT):
            if run.command == "run" and run.state == "done" and run.ended_at is not None and run.ended_at > moment:
                return run.started_at
    return None


def held_back(report: Mapping[str, Any]) -> SafetyStop | None:
    """What a report says of assets that more people would see, None if there are none."""
    return exposure_stop(report["exposure"])


async def deliver(job: JobConfig, event: Json, options: RunOptions) -> None:
    """Send one event to the URL or the command of the job, a few times if need be.

    Raises DamSyncError if it does not arrive. The event may arrive twice, with the same id.
    """
    notify = job.notify
    if notify is None:
        return
    body = redact(json.dumps(event, ensure_ascii=False)).encode(errors="replace")
    if notify.command:
        await _piped(job.notify_command, body)
    else:
        await _posted(job.notify_secret("url"), job.notify_secret("secret"), event["id"], body, options)


async def _posted(url: str, secret: str, identity: str, body: bytes, options: RunOptions) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("https", "http") and parts.hostname
    except ValueError:
        usable = None
    if not usable:
        raise ConfigError("notify.url is not a URL", hint="write https://…")
    now = options.clock.now()
    timestamp = str(int(now.timestamp()))
    headers = {"content-type": "application/json", "webhook-id": identity, "webhook-timestamp": timestamp}
    if secret:
        headers["webhook-signature"] = signature(secret, identity, now, body)
    context = Context(
        f"{parts.scheme}://{parts.netloc}", clock=options.clock, transport=options.transport, attempts=ATTEMPTS
    )
    config = ClientConfig.of(context, "notification", None, (), Pace(None, 1, 1))
    request = Request("POST notification", "POST", url, body=body, headers=headers, repeatable=True, bare=True)
    client = Client(config)
    try:
        await client.send(request)
    finally:
        await client.close()


def signature(secret: str, identity: str, at: datetime, body: bytes) -> str:
    """The header `webhook-signature` of the Standard Webhooks specification; `at` is in UTC. Raises ConfigError for a
    secret that is not base64, or empty."""
    try:
        signing = Webhook(base64.b64decode(secret.removeprefix(PREFIX), validate=True))
    except (ValueError, EmptyWebhookSecretError):
        raise ConfigError("notify.secret is not base64", hint="create one with `openssl rand -base64 32`") from None
    return signing.sign(identity, at, body.decode())


async def _piped(command: Sequence[str], body: bytes) -> None:
    """Run the command with the event on its standard input."""
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=null, stderr=null)
    except OSError as error:
        raise ConfigError(f"the command {command[0]} of notify cannot be run: {error.strerror}", hint=PROGRAM) from None
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            await process.communicate(body)
    except TimeoutError:
        raise Transient(f"the command of notify did not end within {COMMAND_SECONDS:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise Transient(f"the command of notify ended with exit code {process.returncode}")
