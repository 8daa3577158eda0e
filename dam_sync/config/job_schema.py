"""The JSON Schema of the job file, for editors: generated from the models that check the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic.json_schema import models_json_schema

from dam_sync.config.job import JobConfig
from dam_sync.model.connector import Connector
from dam_sync.model.values import Json

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def job_schema(connectors: Mapping[str, Connector]) -> dict[str, Json]:
    """The JSON Schema of a job between these services, with their options and auth methods."""
    models: list[type[Any]] = [JobConfig]
    for connector in connectors.values():
        models += [connector.options, *connector.auth.values()]
    refs, schema = models_json_schema([(model, "validation") for model in dict.fromkeys(models)])
    definitions = schema["$defs"]
    names = {model: ref["$ref"].rpartition("/")[2] for (model, _), ref in refs.items()}
    written = {model: definitions.pop(name) for model, name in names.items()}
    del definitions["Auth"]
    side = definitions.pop("SideConfig")
    for name, connector in connectors.items():
        definitions[name] = _side(side, connector, written)
    definitions["SideConfig"] = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in connectors]}
    return {"$schema": DIALECT, **written[JobConfig], "title": "A job file of dam-sync", "$defs": definitions}


def _side(side: Json, connector: Connector, written: Mapping[type[Any], Json]) -> Json:
    """One of the two services when it is of this kind."""
    properties = {
        **side["properties"],
        "kind": {"const": connector.name, "description": connector.summary},
        "auth": {"oneOf": [_auth(flow, written[method]) for flow, method in connector.auth.items()]},
        "options": written[connector.options],
    }
    needed = {
        "kind": True,
        "base_url": not connector.base_url_optional,
        "tenant_url": connector.needs_tenant_url,
        "auth": bool(connector.auth),
    }
    if not connector.auth:
        del properties["auth"]
    return {**side, "properties": properties, "required": [key for key in needed if needed[key]]}


def _auth(flow: str, method: Json) -> Json:
    properties = {"flow": {"const": flow}, **method.get("properties", {})}
    return {**method, "properties": properties, "required": ["flow", *method.get("required", ())]}
