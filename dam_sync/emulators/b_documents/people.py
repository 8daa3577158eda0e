"""Users and groups."""

from __future__ import annotations

from dam_sync.emulators.b_documents.options import Options
from dam_sync.emulators.b_documents.records import Group, Refusal, User
from dam_sync.emulators.kit.environment import Json


class People:
    """Everybody who may call, and the groups rights are granted to."""

    def __init__(self, options: Options) -> None:
        self.users: dict[str, User] = {}
        self.groups: dict[str, Group] = {
            "administrators": Group("administrators", "Administrators group"),
            "members": Group("members", "Members group"),
            "powerusers": Group("powerusers", "Power users group"),
        }
        self.users[options.user] = User(options.user, options.password, ["administrators"])
        for client, facts in options.clients.items():
            if facts.get("user", True) and facts.get("secret"):
                self.users.setdefault(client, User(client, "", ["administrators"]))
        for given in options.users:
            name = str(given["name"])
            self.users[name] = User(name, str(given.get("password", "")), list(given.get("groups", ["members"])))

    def known(self, name: str) -> bool:
        """Whether rights may be granted to that name."""
        return name in self.users or name in self.groups or name == "Everyone"

    def user(self, name: str) -> User:
        """Raises 404."""
        if name not in self.users:
            raise Refusal(404, "user does not exist")
        return self.users[name]

    def group(self, name: str) -> Group:
        """Raises 404."""
        if name not in self.groups:
            raise Refusal(404, "group does not exist")
        return self.groups[name]

    def user_json(self, user: User) -> Json:
        """A user entity, without the password."""
        properties = {
            "username": user.name, "firstName": None, "lastName": None, "email": None, "company": None,
            **user.properties, "groups": list(user.groups), "password": "",
        }  # fmt: skip
        extended = [{"name": name, "label": self.groups[name].label, "url": f"group/{name}"}
                    for name in user.groups if name in self.groups]  # fmt: skip
        return {
            "entity-type": "user", "id": user.name, "properties": properties, "extendedGroups": extended,
            "isAdministrator": user.administrator, "isAnonymous": False,
        }  # fmt: skip

    def group_json(self, group: Group, *, members: bool = False) -> Json:
        """A group entity; its members only when asked for."""
        more: dict[str, Json] = {}
        if members:
            more["memberUsers"] = [user.name for user in self.users.values() if group.name in user.groups]
            more["memberGroups"] = list(group.groups)
        properties = {"groupname": group.name, "grouplabel": group.label, "description": None}
        return {
            "entity-type": "group", "id": group.name, "groupname": group.name, "grouplabel": group.label,
            "properties": properties, **more,
        }  # fmt: skip
