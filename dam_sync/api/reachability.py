"""Whether a URL can be reached, and what responds there if it is not the service that the job names."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeAlias
from urllib.parse import urlsplit

from dam_sync.config.secrets import slips_in
from dam_sync.config.side import HTTP, SideConfig
from dam_sync.http.proxies import proxy_to
from dam_sync.model.errors import ConfigError, DamSyncError, Denied, Rejected, Transient
from dam_sync.model.service import Service

SECONDS = 5.0  # for a name lookup, and for a connection
PATIENCE = 20.0  # seconds for all attempts of a call together, while a job is checked
ATTEMPTS = 2  # of each call while a job is checked
OpensAt: TypeAlias = Callable[[str], Awaitable[Service]]
"""Connects the service of one side at another base URL."""

LOGIN_KEYS = ("login", "username", "user", "client_id")
PASSWORDS = ("password", "key", "client_secret", "token")


async def refuse_unreachable(url: str, role: str, key: str = "base_url") -> None:
    """Raise ConfigError for an unknown host name, Transient for a host that does not respond within seconds.

    URLs with another scheme than HTTP are left to their service. key: of the job file.
    """
    parts = urlsplit(url)
    if parts.scheme not in HTTP:
        return
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if proxy_to(url) is not None:  # the proxy looks the name up
        return
    place = f"{role}.{key}: {host}"
    try:
        async with asyncio.timeout(SECONDS):
            await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise Transient(f"{place}: no response from the name server within {SECONDS:.0f} s") from None
    except OSError:
        hint = "check the URL in the job file and the name server (DNS)"
        raise ConfigError(f"{place}: unknown host name", hint=hint) from None
    try:
        async with asyncio.timeout(SECONDS):
            _, writer = await asyncio.open_connection(host, port)
        writer.close()
    except TimeoutError:
        hint = "check the URL, the port and the network"
        raise Transient(f"{place}: no connection to port {port} within {SECONDS:.0f} s", hint=hint) from None
    except OSError as error:
        hint = "check the port in the URL, and whether the service is running"
        raise Transient(f"{place}: port {port}: {error.strerror or 'no connection'}", hint=hint) from None


def login_of(side: SideConfig) -> str:
    """The name under which a side logs in, if the job file has it; no secret."""
    given = side.auth.parameters if side.auth is not None else {}
    return next((given[key] for key in LOGIN_KEYS if given.get(key) and "${" not in given[key]), "")


async def explained(error: DamSyncError, side: SideConfig, role: str, opens: OpensAt) -> DamSyncError:
    """Explain a failed first call in terms of the job file: a refused credential, or the URL of something else.
    Nothing of an asset is concerned yet, so that no error says so."""
    if isinstance(error, Denied):
        return _refused(error, side) or await _misplaced_if_denied(error, side, role, opens)
    if urlsplit(side.base_url).scheme not in HTTP or isinstance(error, ConfigError):
        return error
    if isinstance(error, Transient) and not _is_page(error):
        return error
    hint = f"check {_keys_of(side)}: the URL of the service, without the path of a page or of the API"
    if _root_of(side) and await _responds(opens, _root_of(side)):
        hint = f"did you mean base_url: {_root_of(side)}?"
    return _misplaced(error, side, role, hint)


async def explained_in_run(error: DamSyncError, side: SideConfig, role: str, opens: OpensAt) -> DamSyncError:
    """As `explained`; a service that is in trouble, or that changed, is what it was."""
    if isinstance(error, Denied):
        return await _misplaced_if_denied(error, side, role, opens)
    return await explained(error, side, role, opens) if isinstance(error, Rejected) else error


def _misplaced(error: DamSyncError, side: SideConfig, role: str, hint: str) -> ConfigError:
    names, urls = f"{role}.base_url", side.base_url
    if _has_two(side):
        names, urls = f"{names} or {role}.tenant_url", f"{urls} or {side.tenant_url}"
    text = f"{names}: {urls} responds, but not like {side.kind}: {error.message}"
    return ConfigError(text, service=error.service, operation=error.operation, hint=hint)


def _has_two(side: SideConfig) -> bool:
    """Whether calls go to two hosts; an error does not say to which."""
    return bool(side.tenant_url) and side.tenant_url != side.base_url


def _keys_of(side: SideConfig) -> str:
    return "`base_url` and `tenant_url`" if _has_two(side) else "`base_url`"


def _root_of(side: SideConfig) -> str:
    """The URL of the host, if the base URL has a path."""
    root = side.base_url.split("://", 1)[0] + "://" + urlsplit(side.base_url).netloc
    return "" if side.base_url.rstrip("/") == root else root


async def _misplaced_if_denied(error: Denied, side: SideConfig, role: str, opens: OpensAt) -> DamSyncError:
    """Some services refuse a path that they do not have, as a credential or a permission that is missing."""
    root = _root_of(side) if urlsplit(side.base_url).scheme in HTTP else ""
    if root and await _responds(opens, root, denied=False):
        return _misplaced(error, side, role, f"did you mean base_url: {root}?")
    return error


def _refused(error: Denied, side: SideConfig) -> DamSyncError | None:
    """Report a wrong password as such; a missing permission stays what it is."""
    if error.status != HTTPStatus.UNAUTHORIZED:
        return None
    given = side.auth.parameters if side.auth is not None else {}
    what = next((key for key in PASSWORDS if key in given), "credential").replace("_", " ")
    login = login_of(side)
    whose = f" of {login}" if login else ""
    slips = slips_in(given)
    hint = (
        f"{'; '.join(slips)}: leave only the secret there"
        if slips
        else "correct the secret that the job file refers to; no whitespace, line break or quotes are around it"
    )
    return Denied(f"the {what}{whose} was refused (401)", service=error.service, operation=error.operation, hint=hint)


def _is_page(error: DamSyncError) -> bool:
    """Whether the response is a web page: none of the APIs returns one for long."""
    return error.is_page or error.status == HTTPStatus.NOT_IMPLEMENTED


async def _responds(opens: OpensAt, root: str, *, denied: bool = True) -> bool:
    """Whether the service responds at this URL on the same host. denied: also if it refuses the credential there."""
    try:
        service = await opens(root)
    except DamSyncError:
        return False
    try:
        await service.probe()
    except Denied:
        return denied
    except DamSyncError:
        return False
    finally:
        await service.close()
    return True
