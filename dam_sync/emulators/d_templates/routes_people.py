"""Handlers of sessions, OAuth, users and security."""

from __future__ import annotations

from dam_sync.emulators.d_templates.accounts import Accounts, profile_of
from dam_sync.emulators.d_templates.calls import Call, Reply
from dam_sync.emulators.d_templates.records import CUSTOMER, SecurityTemplate, refused
from dam_sync.emulators.d_templates.schema import Schema
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.kit.environment import Json

BULK_MOST = 50


class PeopleCalls:
    """`/auth`, `/v2/oauth`, `/user`, `/security`."""

    def __init__(self, tenant: Tenant, accounts: Accounts) -> None:
        self._tenant, self._accounts = tenant, accounts
        self._schema: Schema = tenant.schema

    def token(self, call: Call) -> Reply:
        """`POST /auth/token`: new or refreshed."""
        return Reply(200, self._accounts.token(call.json()))

    def token_v1(self, call: Call) -> Reply:
        """The same on the deprecated base, where `clientId` is required."""
        sent = call.json()
        if not sent.get("clientId"):
            raise refused(400, "Missing required parameter CLIENT_ID")
        return Reply(200, self._accounts.token(sent))

    def expire(self, call: Call) -> Reply:
        """`DELETE /auth/token`, with a body."""
        return Reply(200, self._accounts.expire(call.json()))

    def impersonate(self, call: Call) -> Reply:
        """`POST /auth/impersonate`."""
        return Reply(200, self._accounts.impersonate(call.json(), call.user))

    def authorize(self, call: Call) -> Reply:
        """`GET /v2/oauth/authorize`: back to the application with a code."""
        where = self._accounts.authorize(call.query, call.header("authorization"))
        return Reply(302, None, ((b"location", where.encode()),))

    def exchange(self, call: Call) -> Reply:
        """`POST /v2/oauth/token`."""
        return Reply(200, self._accounts.exchange(call.form(), call.header("authorization")))

    def me(self, call: Call) -> Reply:
        """`GET /user`."""
        return Reply(200, profile_of(call.user, CUSTOMER))

    def user(self, call: Call) -> Reply:
        """`GET /user/{id}`."""
        found = self._schema.users.get(call.id)
        if found is None:
            raise refused(403, "User not found")
        return Reply(200, profile_of(found, CUSTOMER))

    def users(self, call: Call) -> Reply:
        """`GET /users`."""
        rows = [profile_of(each, CUSTOMER) for each in self._schema.users.values()]
        return Reply(200, listed(call, rows, "username"))

    def requests(self, call: Call) -> Reply:
        """`POST /request/list`: newest first, at most 100 at a time (wire D 2.7)."""
        sent = call.json()
        start, limit = sent.get("from", 0), sent.get("limit", 100)
        if not isinstance(start, int) or not isinstance(limit, int) or not 1 <= limit <= 100:
            raise refused(400, "Invalid paging parameters")
        total = self._tenant.options.requests
        numbers = range(total, 0, -1)[start : start + limit]
        rows = [{"id": f"request-{number}", "title": f"Request {number}", "assetCount": 1} for number in numbers]
        return Reply(200, {"total": total, "results": rows})

    def security(self, call: Call) -> Reply:
        """`GET /security/template`: a bare array."""
        return Reply(200, [_security(each) for each in self._schema.security.values()])

    def security_one(self, call: Call) -> Reply:
        """`GET /security/templates/{id}`."""
        found = self._schema.security.get(call.id)
        if found is None:
            raise refused(403, "Security template not found")
        return Reply(200, _security(found))

    def add_security(self, call: Call) -> Reply:
        """`POST /security/templates`."""
        sent = self._admin(call).json()
        made = self._schema.new_security(_name(sent.get("templateName"), "templateName"))
        for row in sent.get("templateDocument") or ():
            granted = [p["permissionId"] for p in row.get("groupPermissions") or () if p.get("isPermitted")]
            made.grants[str(row.get("groupId"))] = frozenset(granted)
        return Reply(200, _security(made))

    def groups(self, call: Call) -> Reply:
        """`GET /security/groups`: an object, or a bare array (wire D 5.4)."""
        rows = [{"groupId": group, "groupName": name} for group, name in self._schema.user_groups.items()]
        return Reply(200, rows if "shapes" in self._tenant.options.plays else {"securityGroups": rows})

    def add_group(self, call: Call) -> Reply:
        """`POST /security/user-groups`."""
        name = _name(self._admin(call).json().get("groupName"), "groupName")
        if name in self._schema.user_groups.values():
            raise refused(400, "Group exists")
        return Reply(200, {"groupId": self._schema.new_user_group(name), "groupName": name})

    def add_groups(self, call: Call) -> Reply:
        """`POST /security/user-groups/bulk`: at most 50, all or none (spec 002, Limits, D)."""
        names = self._admin(call).json().get("groupNames")
        if not isinstance(names, list) or not 1 <= len(names) <= BULK_MOST:
            raise refused(400, "groupNames must have 1 to 50 names")
        known = set(self._schema.user_groups.values())
        checked = [_name(name, "groupName") for name in names]
        if known.intersection(checked) or len(set(checked)) < len(checked):
            raise refused(400, "Group exists")
        return Reply(200, [{"groupId": self._schema.new_user_group(name), "groupName": name} for name in checked])

    def permissions(self, call: Call) -> Reply:
        """`GET /security/permissions`."""
        rows = [{"permissionId": each, "permissionName": name} for name, each in self._schema.permissions.items()]
        return Reply(200, rows)

    def roles(self, call: Call) -> Reply:
        """`GET /roles`: a bare array."""
        return Reply(200, [{"roleId": each.id, "roleName": each.username} for each in self._schema.users.values()])

    def _admin(self, call: Call) -> Call:
        if not call.user.admin:
            raise refused(403, "User does not have the required privileges")
        return call


def listed(call: Call, rows: list[Json], key: str) -> Json:
    """An administrator's list: `hitCount` is the number of all (wire D 2.7). Raises Refusal 400."""
    start, limit = call.query.get("from", "0"), call.query.get("limit", "100")
    if not start.isdigit() or not limit.isdigit() or not 1 <= int(limit) <= 100:
        raise refused(400, "Invalid paging parameters")
    term = call.query.get("searchTerm", "").strip("*").casefold()
    found = [row for row in rows if term in str(row.get(key, "")).casefold()]
    if call.query.get("sortField"):
        field, down = call.query["sortField"], call.query.get("order", "asc") == "desc"
        found.sort(key=lambda row: str(row.get(field, "")).casefold(), reverse=down)
    return {"hitCount": len(found), "results": found[int(start) : int(start) + int(limit)]}


def _security(template: SecurityTemplate) -> Json:
    return {
        "templateId": template.id,
        "templateName": template.name,
        "securityDenormalized": [
            {"groupId": group, "permissions": sorted(held)} for group, held in template.grants.items()
        ],
        "templateDocument": [
            {"groupId": group, "groupPermissions": [{"permissionId": p, "isPermitted": True} for p in sorted(held)]}
            for group, held in template.grants.items()
        ],
    }


def _name(value: Json, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise refused(400, f"{what} cannot be empty")
    return value.strip()
