"""Connections with the options and credentials that a job file would hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dam_sync.config.side import Auth, auth_of, options_of
from dam_sync.model.connector import Connector, Context
from dam_sync.model.service import Service


def typed(connector: Connector, context: Context) -> Context:
    """The context with its options and credential as the connector declares them. Raises ConfigError."""
    return replace(
        context,
        auth=auth_of(connector, Auth.model_validate(dict(context.auth)) if context.auth else None),
        options=options_of(connector, context.options or {}),
    )


def connected(connector: Connector, context: Context) -> Service:
    """A connection from the keys of a job file."""
    return connector.connect(typed(connector, context))


def method_of(connector: Connector, **auth: str) -> Any:
    """An auth method from its parameters."""
    return auth_of(connector, Auth.model_validate(auth))


def read_options(connector: Connector, given: Mapping[str, Any]) -> Any:
    """Options from the keys of a job file."""
    return options_of(connector, given)
