"""The schema of an emulated tenant of service D: attributes, groups, templates, vocabularies, security (wire D 5)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping

from dam_sync.emulators.d_templates.options import EVERY_PERMISSION
from dam_sync.emulators.d_templates.records import (
    Attribute,
    Group,
    SecurityTemplate,
    Template,
    User,
    Vocabulary,
    refused,
    slug_of,
)
from dam_sync.emulators.kit.environment import Json

VOCABULARY = "controlledVocabulary"
TABLE = "tableAttribute"
CASCADE = "cascadeAttribute"
EXTERNAL = "externalContent"
SYSTEM: Mapping[str, str] = {
    "System Metadata Templates": VOCABULARY,
    "System Security Templates": VOCABULARY,
    "System Created By": VOCABULARY,
    "System Last Updated By": VOCABULARY,
    "System Content Type": VOCABULARY,
    "System Mime Type": VOCABULARY,
    "System Is Federated": VOCABULARY,
    "System File Size": "text",
    "System Dimensions": "text",
    "System Checksum": "text",
    "System Match": "text",
}
TEXT_LETTERS = 250
AREA_LETTERS = 10_000


class Schema:
    """What assets may carry. `touched` is called after a change of names that searches know."""

    def __init__(self, new_id: Callable[[], str], now: Callable[[], int], *, apply_after_post: bool) -> None:
        self.new_id, self.now = new_id, now
        self.apply_after_post = apply_after_post
        self.attributes: dict[str, Attribute] = {}
        self.groups: dict[str, Group] = {}
        self.templates: dict[str, Template] = {}
        self.vocabularies: dict[str, Vocabulary] = {}
        self.security: dict[str, SecurityTemplate] = {}
        self.user_groups: dict[str, str] = {}
        self.users: dict[str, User] = {}
        self.permissions = {name: new_id() for name in EVERY_PERMISSION}
        self.touched: Callable[[], None] = lambda: None
        self.system: dict[str, Attribute] = {}
        self._of_template: dict[str, dict[str, Attribute]] = {}
        self._add_system()

    def _add_system(self) -> None:
        for name, kind in SYSTEM.items():
            vocabulary = self._system_vocabulary(name) if kind == VOCABULARY else ""
            many = name == "System Security Templates"
            attribute = Attribute(
                self.new_id(), name, slug_of(name), kind, vocabulary=vocabulary, multiple=many, system=True
            )
            self.system[attribute.slug] = attribute

    def _system_vocabulary(self, name: str) -> str:
        title = "System Users" if name.endswith(" By") else "System Yes No" if name.endswith("Federated") else name
        found = next((each for each in self.vocabularies.values() if each.name == title), None)
        if found is None:
            found = self.new_vocabulary(title, ("Yes", "No") if title == "System Yes No" else ())
        return found.id

    def system_value(self, slug: str, name: str, value: str = "") -> str:
        """The value id of something the service keeps a vocabulary of; `value` where the id is that of the thing."""
        vocabulary = self.vocabularies[self.system[slug].vocabulary]
        for known, text in vocabulary.values.items():
            if known == value or (not value and text == name):
                return known
        value = value or self.new_id()
        vocabulary.values[value] = vocabulary.applied[value] = name
        return value

    def of_template(self, template: str) -> Mapping[str, Attribute]:
        """The attributes of a template by id, in order, without the service's own."""
        found = self._of_template.get(template)
        if found is None:
            groups = (self.groups[each] for each in self.templates[template].groups)
            found = {each: self.attributes[each] for group in groups for each in group.attributes}
            self._of_template[template] = found
        return found

    def changed(self) -> None:
        """Attributes, groups or templates are others now."""
        self._of_template.clear()
        self.touched()

    def named(self, name: str) -> Attribute | None:
        """The attribute of a display name, the service's own included; characters of any case."""
        wanted = name.casefold()
        return next((each for each in self.every() if each.name.casefold() == wanted), None)

    def slugged(self, slug: str) -> Attribute | None:
        """The attribute of a search field."""
        return self.system.get(slug) or next((each for each in self.attributes.values() if each.slug == slug), None)

    def every(self) -> Iterable[Attribute]:
        """All attributes, the service's own first."""
        yield from self.system.values()
        yield from self.attributes.values()

    def new_attribute(self, name: str, kind: str, slug: str = "", **more: Json) -> Attribute:
        """One more; its search field is made from the name."""
        wanted = slug or slug_of(name)
        number = 1
        while self.slugged(wanted if number == 1 else f"{wanted}_{number}"):
            number += 1
        slug = wanted if number == 1 else f"{wanted}_{number}"
        now = self.now()
        made = Attribute(self.new_id(), name, slug, kind, created=now, updated=now, **more)
        self.attributes[made.id] = made
        self.changed()
        return made

    def new_group(self, name: str, attributes: Iterable[str]) -> Group:
        """One more group. Raises Refusal 400 on unknown ids."""
        ids = list(dict.fromkeys(attributes))
        if any(each not in self.attributes for each in ids):
            raise refused(400, "Metadata attribute not found")
        now = self.now()
        made = Group(self.new_id(), name, slug_of(name), ids, created=now, updated=now)
        self.groups[made.id] = made
        self.changed()
        return made

    def new_template(self, name: str, groups: Iterable[str], types: Iterable[str] = ("default",)) -> Template:
        """One more template. Raises Refusal 400 on unknown groups or an attribute in two of them (wire D 5.2)."""
        made = Template(self.new_id(), name, types=tuple(types), created=self.now(), updated=self.now())
        self.regroup(made, groups)
        self.templates[made.id] = made
        self.system_value("system_metadata_templates", name, made.id)
        self.changed()
        return made

    def regroup(self, template: Template, groups: Iterable[str]) -> None:
        """Other groups for a template."""
        ids = list(dict.fromkeys(groups))
        if any(each not in self.groups for each in ids):
            raise refused(400, "Metadata group not found")
        attributes = [each for group in ids for each in self.groups[group].attributes]
        if len(attributes) != len(set(attributes)):
            raise refused(400, "The same attribute is in two groups")
        template.groups = ids

    def template(self, template: str) -> Template:
        """Raises Refusal 400 (wire D 5.1)."""
        found = self.templates.get(template)
        if found is None:
            raise refused(400, "Metadata Template not found")
        return found

    def vocabulary(self, vocabulary: str) -> Vocabulary:
        """Raises Refusal 404 (wire D 5.3)."""
        found = self.vocabularies.get(vocabulary)
        if found is None:
            raise refused(404, "Controlled vocabulary not found")
        return found

    def new_vocabulary(self, name: str, values: Iterable[str] = (), *, applied: bool = True) -> Vocabulary:
        """One more; its values can be written at once, unless they have to be applied first."""
        now = self.now()
        made = Vocabulary(self.new_id(), name, slug_of(name), created=now, updated=now)
        made.values = {self.new_id(): value for value in values}
        made.applied = dict(made.values) if applied else {}
        self.vocabularies[made.id] = made
        return made

    def patch_vocabulary(self, found: Vocabulary, sent: Mapping[str, Json]) -> None:
        """Name, values added, renamed, taken out: seen by writes only after `apply` (wire D 5.2). Raises Refusal."""
        if found.system:
            raise refused(400, "System vocabularies cannot be changed")
        added = [_text(value) for value in sent.get("add") or ()]
        known = {value.casefold() for value in found.values.values()}
        for value in added:
            if value.casefold() in known:
                raise refused(400, f"value already exists: {value}")
            known.add(value.casefold())
        renamed = {str(row.get("valueId")): _text(row.get("valueName")) for row in sent.get("update") or ()}
        dropped = [str(value) for value in sent.get("delete") or ()]
        if any(value not in found.values for value in (*renamed, *dropped)):
            raise refused(400, "value not found")
        if "name" in sent:
            found.name = _text(sent["name"], "name")
        found.values.update(renamed)
        for value in dropped:
            found.values.pop(value, None)
        found.values.update((self.new_id(), value) for value in added)
        found.updated = self.now()

    def apply(self) -> None:
        """Every change of a vocabulary takes effect."""
        for each in self.vocabularies.values():
            each.gone.update((value, name) for value, name in each.applied.items() if value not in each.values)
            each.applied = dict(each.values)
        self.touched()

    def new_security(self, name: str) -> SecurityTemplate:
        """One more security template, without any rights."""
        made = SecurityTemplate(self.new_id(), name)
        self.security[made.id] = made
        self.system_value("system_security_templates", name, made.id)
        return made

    def new_user_group(self, name: str) -> str:
        """One more group of users; its id."""
        made = self.new_id()
        self.user_groups[made] = name
        return made

    def grant(self, template: SecurityTemplate, group: str, permissions: Iterable[str] = EVERY_PERMISSION) -> None:
        """Permissions, by name, of a group on a security template."""
        template.grants[group] = frozenset(self.permissions[name] for name in permissions)

    def may(self, user: User, security: Iterable[str], permission: str) -> bool:
        """Whether one of the user's groups has the permission by one of these security templates."""
        wanted = self.permissions[permission]
        templates = (self.security[each] for each in security if each in self.security)
        return any(wanted in template.grants.get(group, ()) for template in templates for group in user.groups)


def new_uuid(bits: int) -> str:
    """A UUID of these random bits."""
    return str(uuid.UUID(int=bits, version=4))


def _text(value: Json, what: str = "value") -> str:
    if not isinstance(value, str) or not value.strip():
        raise refused(400, f"{what} cannot be empty")
    return value.strip()
