"""A small JSON Schema validator: the keywords that our schemas use."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
NUMBERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minimum": operator.ge,
    "maximum": operator.le,
    "exclusiveMinimum": operator.gt,
}


def accepts(schema: Any, value: Any, root: Any = None) -> bool:
    """Whether a value is as the schema says."""
    root = root or schema
    if "$ref" in schema:
        return accepts(root["$defs"][schema["$ref"].rpartition("/")[2]], value, root)
    if "oneOf" in schema and sum(accepts(option, value, root) for option in schema["oneOf"]) != 1:
        return False
    if "anyOf" in schema and not any(accepts(option, value, root) for option in schema["anyOf"]):
        return False
    if ("const" in schema and value != schema["const"]) or value not in schema.get("enum", [value]):
        return False
    return _typed(schema, value) and _inside(schema, value, root)


def _typed(schema: Any, value: Any) -> bool:
    given = schema.get("type", ())
    kinds = given if isinstance(given, list) else [given] if given else []
    if kinds and not any(isinstance(value, TYPES[kind]) for kind in kinds):
        return False
    if isinstance(value, bool):
        return not kinds or "boolean" in kinds
    if isinstance(value, int | float):
        return all(holds(value, schema[word]) for word, holds in NUMBERS.items() if word in schema)
    if isinstance(value, str):
        return len(value) >= schema.get("minLength", 0) and bool(re.search(schema.get("pattern", ""), value))
    return True


def _inside(schema: Any, value: Any, root: Any) -> bool:
    if isinstance(value, list):
        return all(accepts(schema.get("items", {}), item, root) for item in value)
    if not isinstance(value, dict):
        return True
    properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    if not set(schema.get("required", ())) <= set(value):
        return False
    below = {key: properties.get(key, more) for key in value}
    return all(rule is True or (rule is not False and accepts(rule, value[key], root)) for key, rule in below.items())
