"""Users, their keys, and what they may see and do (wire C 1). Permissions flow from organization to library to
collection."""

from __future__ import annotations

from collections.abc import Iterator

from dam_sync.emulators.c_brandlibrary.naming import Names
from dam_sync.emulators.c_brandlibrary.options import Options
from dam_sync.emulators.c_brandlibrary.records import LEVELS, Asset, Collection, Library, Permission, User

_SCOPES = {"organization": "organizations", "library": "libraries", "collection": "collections"}


class Accounts:
    """Everybody with a key."""

    def __init__(self, options: Options, names: Names) -> None:
        self._names = names
        self._tokens: dict[str, User] = {}
        self.users: dict[str, User] = {}
        self.permissions: dict[str, Permission] = {}
        self.owner = self._add("owner@example.test", options.token, "owner", "organization")
        for row in options.users:
            token, level = str(row["token"]), str(row.get("level", "guest"))
            if level not in LEVELS:
                raise ValueError(f"unknown level {level!r}; there are {', '.join(LEVELS)}")
            self._add(
                str(row.get("email") or f"{token}@example.test"), token, level, str(row.get("scope") or "organization")
            )

    def _add(self, email: str, token: str, level: str, scope: str) -> User:
        kind, _, name = scope.partition(":")
        user = User(self._names.key(), email, email.partition("@")[0].title(), "Doe", token)
        self._tokens[token] = user
        self.users[user.id] = user
        permission = Permission(self._names.key(), user.id, level, _SCOPES[kind], name)
        self.permissions[permission.id] = permission
        return user

    def user(self, header: str) -> User | None:
        """Whose key it is, None for a missing or bad one."""
        scheme, _, token = header.partition(" ")
        return self._tokens.get(token.strip()) if scheme.lower() == "bearer" else None

    def level(self, user: User | None, library: Library) -> int:
        """What the user may do in a library: a place in LEVELS, -1 for nothing; anybody may read a public one."""
        found = 0 if library.privacy == "public" else -1
        for each in self._of(user):
            if each.kind == "organizations" or (each.kind == "libraries" and each.name == library.name):
                found = max(found, LEVELS.index(each.level))
        return found

    def collection_level(self, user: User | None, library: Library, collection: Collection) -> int:
        """The same for a collection, which may be granted alone."""
        found = max(self.level(user, library), 0 if collection.public else -1)
        for each in self._of(user):
            if each.kind == "collections" and each.name == collection.name:
                found = max(found, LEVELS.index(each.level))
        return found

    def organization_level(self, user: User | None) -> int:
        """What the user may do in the organization as such; anybody with something in it sees it."""
        levels = [LEVELS.index(each.level) if each.kind == "organizations" else 0 for each in self._of(user)]
        return max(levels, default=-1)

    def shown(self, user: User | None, asset: Asset, level: int, now: int) -> bool:
        """Whether an asset exists for somebody with this level: pending ones for admins and their uploader, drafts and
        expired ones for collaborators and up, none that is deleted."""
        if asset.deleted is not None or level < 0:
            return False
        if level >= LEVELS.index("admin"):
            return True
        state = asset.state(now)
        if state == "pending approval":
            return level >= 1 and user is not None and asset.creator == user.id
        return state == "published" or level >= 1

    def _of(self, user: User | None) -> Iterator[Permission]:
        if user is not None:
            yield from (each for each in self.permissions.values() if each.user == user.id)
