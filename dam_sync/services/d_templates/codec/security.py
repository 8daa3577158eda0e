"""Security templates: they decide who sees an asset (wire D 5.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dam_sync.model.asset import Draft
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.errors import ConfigError, InvalidValue
from dam_sync.model.exposure_options import ExposureOption
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.forms import MetadataForms

RESTRICTED = "restricted_security"


@dataclass(frozen=True, slots=True)
class Security:
    """Ids of all security templates by name. default: for assets and collections where nothing else is named;
    restricted: for closed assets, not visible to ordinary users; both may be empty. everybody: those that stand for all
    users."""

    known: Mapping[str, str]
    default: str = ""
    restricted: str = ""
    everybody: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, known: Mapping[str, str], default: str, restricted: str, everybody: frozenset[str] = frozenset()
    ) -> Security:
        """Checks the templates named in options; a single existing template is the default. Raises ConfigError."""
        for option, name in (("security", default), (RESTRICTED, restricted)):
            if name and name not in known:
                hint = f"visible templates: {', '.join(sorted(known)[:10]) or 'none'}"
                text = f"option {option}: unknown security template {name!r}"
                raise ConfigError(text, service=facts.NAME, hint=hint)
        only = next(iter(known)) if len(known) == 1 else ""
        return cls(known, default or only, restricted, everybody)

    def named(self, groups: Iterable[str], *, closed: bool = False) -> tuple[str, ...]:
        """The templates of an asset for these groups; empty if nothing names one."""
        if closed:
            return (self.restricted,) if self.restricted else ()
        return tuple(sorted(groups)) or ((self.default,) if self.default else ())

    def ids(self, groups: Iterable[str], *, closed: bool = False) -> list[str]:
        """The ids of these templates. Raises InvalidValue."""
        wanted = self.named(groups, closed=closed)
        if not wanted:
            option = RESTRICTED if closed else "security"
            hint = f"set the target's option `{option}`" + ("" if closed else ", or map `security.groups`")
            raise InvalidValue("an asset needs a security template, but none is configured", hint=hint)
        for name in wanted:
            if name not in self.known:
                hint = f"visible templates: {', '.join(sorted(self.known)[:10]) or 'none'}"
                raise InvalidValue(f"unknown security template {name!r}", hint=hint)
        if len(wanted) > facts.SECURITY_MOST:
            raise InvalidValue(f"an asset takes {facts.SECURITY_MOST} security templates, not {len(wanted)}")
        return [self.known[name] for name in wanted]

    def of_collection(self) -> Sequence[str]:
        """The templates of a new collection; without any it is private."""
        name = self.default or self.restricted
        return [self.known[name]] if name else []

    def readers(self, templates: Iterable[str]) -> frozenset[str]:
        """The templates that limit who sees an asset; empty if one of them stands for everybody."""
        found = frozenset(templates)
        return frozenset() if found & self.everybody else found

    def closing_option(self) -> ExposureOption | None:
        """The option for want of which nothing can be hidden; None if it is set."""
        if self.restricted:
            return None
        others = sorted(set(self.known) - {self.default} - self.everybody)
        return ExposureOption(
            name=RESTRICTED,
            why="no security template is known that ordinary users do not see, so that nothing is moved that nobody "
            "may see yet, and what is moved cannot be hidden there later, when it is archived, withdrawn or restricted "
            "at the source",
            what="a security template that ordinary users do not see",
            effect="names the security template that hidden assets get; ordinary users must not see it",
            candidates=tuple(others),
            otherwise="let an administrator of the target create a security template that ordinary users do not see, "
            f"and name it in `{RESTRICTED}`",
        )

    def audience(self, draft: Draft, forms: MetadataForms | None) -> Audience:
        """Dates and status are plain values here and hide nothing (wire D 6.9)."""
        templates = self.named(draft.rights.groups, closed=draft.closed)
        kept = sorted(key for key in draft.fields if forms and key in forms.by_key and forms.by_key[key].sensitive)
        return Audience(
            hidden="closed" if draft.closed else "",
            groups=self.readers(templates) or None,
            restrictions=frozenset(Restriction(RestrictionKind.SENSITIVE, key) for key in kept),
        )
