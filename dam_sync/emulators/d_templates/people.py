"""The users of an emulated tenant of service D, and what they are permitted on its security templates (wire D 5.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dam_sync.emulators.d_templates.options import EVERY_PERMISSION, Options
from dam_sync.emulators.d_templates.records import SecurityTemplate, User
from dam_sync.emulators.d_templates.schema import Schema
from dam_sync.emulators.kit.environment import Json


@dataclass(frozen=True, slots=True)
class Grant:
    """What a group of users may do; templates: names of security templates, None for all of them."""

    group: str
    permissions: tuple[str, ...]
    templates: frozenset[str] | None


class People:
    """Users by name. The first may do everything; `svc-limited` may look at the first security template's assets."""

    def __init__(self, schema: Schema, options: Options) -> None:
        self._schema = schema
        self._grants: list[Grant] = []
        self.users: dict[str, User] = {}
        owner = {"username": options.username, "password": options.password}
        limited: Mapping[str, Json] = {
            "username": "svc-limited",
            "password": "s3cret-Pass2",
            "permissions": ("View", "Download"),
            "templates": None,
            "first": True,
            "admin": False,
            "sensitive": False,
        }
        for row in (owner, limited, *options.users):
            self._add(row)

    def _add(self, row: Mapping[str, Json]) -> None:
        name = str(row["username"])
        group = self._schema.new_user_group(f"{name} group")
        templates: Sequence[str] | None = ("",) if row.get("first") else row.get("templates")
        held = None if templates is None else frozenset(templates)
        self._grants.append(Grant(group, tuple(row.get("permissions") or EVERY_PERMISSION), held))
        made = User(
            self._schema.new_id(), name, str(row.get("password", "")), (group,),
            bool(row.get("admin", True)), bool(row.get("sensitive", True)),
        )  # fmt: skip
        self.users[name] = self._schema.users[made.id] = made
        self._schema.system_value("system_created_by", made.shown, made.id)

    def permit(self, template: SecurityTemplate, *, first: bool) -> None:
        """Give everybody what they have on this security template."""
        for grant in self._grants:
            held = grant.templates
            if held is None or template.name in held or (first and "" in held):
                self._schema.grant(template, grant.group, grant.permissions)
