"""Who sees an asset of service E: its groups, release and expiration, and what an upload profile gives. Pure functions.

An upload is seen as its profile says until its own rights are written (wire E 5.6, 6.5). So an asset that fewer people
may see goes through a profile that releases nothing by itself, where the tenant has one, and its rights come last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from dam_sync.http.dates import parse_timestamp
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.asset import Draft, Patch, Rights
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import ConfigError
from dam_sync.model.exposure_options import ExposureOption, some
from dam_sync.model.values import Json, instant_text
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.codec.fields import TenantSchema, UploadProfile, texts_of
from dam_sync.services.e_profiles.options import ProfilesOptions

CLOSED_PROFILE = "closed_profile"
GROUPS, RELEASE, EXPIRATION = "asset_groups", "release_date", "expiration_date"
CLEARED = {facts.HIDING: RELEASE, facts.UNEXPIRING: EXPIRATION}  # the date that each of these forms takes away
NAMED = {RELEASE: "a release date", EXPIRATION: "an expiration date"}
NO_RELEASE, NO_GROUP, HIDDEN = "no release date", "no asset group", "the service does not show its rights"


# -- reading -----------------------------------------------------------------------------------------------------------


@interprets_response
def rights_of(security: Json, everybody: frozenset[str]) -> Rights:
    """Groups are names (wire E 3.1). One without a release date or a group is seen by nobody (spec 002: an asset left
    without values is unavailable); one of a group that stands for everybody has none to name."""
    if not isinstance(security, dict):
        return Rights(restrictions=frozenset({Restriction(RestrictionKind.UNRELEASED, HIDDEN)}))
    groups, release = texts_of(security.get(GROUPS)), parse_timestamp(security.get(RELEASE))
    missing = ((release is None, NO_RELEASE), (not groups, NO_GROUP))
    return Rights(
        release_at=release,
        expires_at=parse_timestamp(security.get(EXPIRATION)),
        groups=frozenset() if groups & everybody else groups,
        restrictions=frozenset(Restriction(RestrictionKind.UNRELEASED, why) for holds, why in missing if holds),
    )


def is_cleared(security: Json, name: str) -> bool | None:
    """Whether rights show that they have no such date; None if they do not show it."""
    return security[name] is None if isinstance(security, dict) and name in security else None


def is_shown(row: Json, now: datetime) -> bool | None:
    """Whether an asset is released, and for some group; None if it does not show that."""
    flag, rights = row.get("released_and_not_expired"), row.get("security")
    if isinstance(rights, dict) and rights.get(GROUPS) == []:
        return False
    if isinstance(flag, bool):
        return flag
    if is_cleared(rights, RELEASE) is None:
        return None
    release = parse_timestamp(rights[RELEASE])
    return release is not None and release <= now


# -- uploads -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UploadPlan:
    """How an asset is uploaded: through which profile, and the security to be written afterwards, empty for none."""

    profile: str
    body: Json


def plan_of(
    draft: Draft, name: str, tenant: TenantSchema, options: ProfilesOptions, now: datetime
) -> UploadPlan | None:
    """The plan of a draft whose profile is `name`; None for a closed one of a type that no profile keeps closed."""
    wanted = tenant.profiles.get(name)
    if not draft.closed and not opens_wider(draft.rights, wanted, now):
        return UploadPlan(name, security_of_draft(draft.rights, wanted))
    shut = closing_profile(wanted, tenant, options, now) if wanted else None
    if shut is None or wanted is None:
        return None if draft.closed else UploadPlan(name, security_of_draft(draft.rights, wanted))
    release = draft.rights.release_at or wanted.release_at or now
    whole = replace(draft.rights, groups=draft.rights.groups or wanted.groups, release_at=release)
    body = security_of_draft(whole, None)
    return UploadPlan(shut.name, {**body, RELEASE: None} if draft.closed else body)


def opens_wider(rights: Rights, profile: UploadProfile | None, now: datetime) -> bool:
    """Whether an upload through the profile is seen by people, or at a time, that these rights do not allow."""
    if profile is None or profile.is_unseen(now):
        return False
    return (
        bool(rights.groups and not (profile.says_groups and profile.groups <= rights.groups))
        or (rights.release_at is not None and rights.release_at > now)
        or (rights.expires_at is not None and rights.expires_at <= now)
    )


def closing_profile(
    wanted: UploadProfile, tenant: TenantSchema, options: ProfilesOptions, now: datetime
) -> UploadProfile | None:
    """The profile of the same metadata type whose uploads nobody sees by themselves: the one that the job names, else
    its own, else the first that releases nothing."""
    alike = {each.name: each for each in tenant.of_type(wanted.type) if each.closes(now)}
    names = (options.closed_profile.get(wanted.type), options.closed_profile.get(""), wanted.name)
    found = next((alike[name] for name in names if name in alike), None)
    return found or next((each for each in alike.values() if each.hides(now)), None)


def closing_option(name: str, tenant: TenantSchema, options: ProfilesOptions, now: datetime) -> ExposureOption | None:
    """The option for want of which an asset of this profile cannot be uploaded unseen; None if it can."""
    profile = tenant.profiles.get(name)
    if profile is None or closing_profile(profile, tenant, options, now) is not None:
        return None
    shown = some(profile.groups) or "people that the service does not name"
    return _option(
        profile.type, f"profile {name} shows a new asset to {shown} until its rights are written", tenant, now
    )


def open_types(tenant: TenantSchema, options: ProfilesOptions, now: datetime) -> list[ExposureOption]:
    """The same for the metadata types of which nothing can be uploaded unseen, but for those that the job leaves so:
    one for each of which the tenant has a profile to name, and one for all others."""
    able: list[ExposureOption] = []
    others: list[str] = []
    for name in sorted({each.type for each in tenant.profiles.values()}):
        if options.leaves_open(name) or all(
            closing_profile(each, tenant, options, now) for each in tenant.of_type(name)
        ):
            continue
        found = _option(name, _kept_closed(f" {name}"), tenant, now)
        if found.candidates:
            able.append(found)
        else:
            others.append(name)
    if others:
        named = f"{'s' * (len(others) > 1)} {some(others)}"
        able.append(replace(_option(others[0], _kept_closed(named), tenant, now), key="", otherwise=_missing(named)))
    return able


def _kept_closed(types: str) -> str:
    return (
        f"no profile keeps new assets of type{types} closed until their rights are written, so that those for fewer "
        "people, or for nobody yet, are not moved"
    )


def _missing(types: str) -> str:
    return (
        f"let an administrator of the target create a profile of type{types} that does not release by itself, or one "
        f"without groups, to be named in `{CLOSED_PROFILE}`"
    )


def _option(kind: str, why: str, tenant: TenantSchema, now: datetime) -> ExposureOption:
    """For a metadata type."""
    return ExposureOption(
        name=CLOSED_PROFILE,
        why=why,
        what=f"a profile of type {kind} without groups",
        effect="uploads such assets through that profile, where nobody sees them",
        candidates=tuple(each.name for each in tenant.of_type(kind) if each.closes(now)),
        key="" if len({each.type for each in tenant.profiles.values()}) == 1 else kind,
        otherwise=_missing(f" {kind}"),
    )


def refuse_seen_profiles(tenant: TenantSchema, options: ProfilesOptions, now: datetime) -> None:
    """Raises ConfigError for a name in `closed_profile` that no profile of that type has, and for a profile that shows
    what is uploaded through it."""
    for kind, name in options.closed_profile.items() if tenant.profiles else ():
        known = {each.name: each for each in (tenant.of_type(kind) if kind else tenant.profiles.values())}
        of_type = f" of type {kind}" if kind else ""
        if name and name not in known:
            raise ConfigError(
                f"option {CLOSED_PROFILE}: there is no upload profile {name!r}{of_type}",
                service=facts.NAME,
                hint=nearest(name, known) or f"profiles{of_type}: {some(known) or 'none'}",
            )
        if name and not known[name].closes(now):
            raise ConfigError(
                f"option {CLOSED_PROFILE}: the upload profile {name!r} {_of_no_use(known[name])}",
                service=facts.NAME,
                hint="name one with a group that does not release by itself, or one without groups that does",
            )


def _of_no_use(profile: UploadProfile) -> str:
    if profile.is_groupless:
        return "gives neither a release date nor a group, so that nobody could write the rights of a new asset"
    return f"shows new assets at once to {some(profile.groups) or 'people that the service does not name'}"


def audience_of(draft: Draft, name: str, tenant: TenantSchema, options: ProfilesOptions, now: datetime) -> Audience:
    """Who would see an asset of this draft; where no profile keeps it closed, also who sees it before its rights are
    written."""
    if draft.closed:
        return Audience(hidden="closed", groups=frozenset())
    profile, rights = tenant.profiles.get(name), draft.rights
    if profile is None:
        return Audience()
    groups, release = rights.groups or profile.groups, rights.release_at or profile.release_at
    if release is None and not profile.immediate:
        return Audience(NO_RELEASE, groups=_restricted(groups, options))
    if not groups:
        return Audience(hidden=NO_GROUP) if profile.says_groups else Audience("", release, rights.expires_at)
    expiry = rights.expires_at
    if opens_wider(rights, profile, now) and closing_profile(profile, tenant, options, now) is None:
        expiry = None if expiry is not None and expiry <= now else expiry
        if not profile.says_groups:
            return Audience("", profile.release_at, expiry)
        groups, release = groups | profile.groups, profile.release_at
    return Audience("", release, expiry, _restricted(groups, options))


def _restricted(groups: frozenset[str], options: ProfilesOptions) -> frozenset[str] | None:
    """The groups that an asset is for; None if one of them has everybody."""
    return None if groups & options.everybody else groups


# -- bodies ------------------------------------------------------------------------------------------------------------


def security_of_draft(rights: Rights, profile: UploadProfile | None) -> Json:
    """What the profile does not give by itself; empty when nothing is left to say (wire E 6.5)."""
    body: dict[str, Json] = {}
    if rights.groups and (profile is None or rights.groups != profile.groups):
        body[GROUPS] = sorted(rights.groups)
    if rights.release_at and (profile is None or rights.release_at != profile.release_at):
        body[RELEASE] = second_text(rights.release_at)
    if rights.expires_at:
        body[EXPIRATION] = second_text(rights.expires_at)
    return body


def security_of_patch(patch: Patch, now: datetime) -> Json:
    """The members to change. An expiration that is gone is cleared; a release that is gone becomes `now`, for none
    would hide the asset, and the old one may lie ahead; groups are never taken away (assumptions 25, 26). An asset that
    is closed has no release date, one that is opened has one."""
    body: dict[str, Json] = {EXPIRATION: None} if "expiry" in patch.cleared else {}
    if "release" in patch.cleared or patch.closed is False:
        body[RELEASE] = second_text(now)
    body |= security_of_draft(patch.rights, None) if patch.rights is not None else {}
    return {**body, RELEASE: None} if patch.closed else body


def widens(before: Json, body: Json) -> bool:
    """Whether the members of a change let in people, or at a time, that the security before it does not. Raises
    ContractBroken for a value that is not a date."""
    old = rights_of(before, frozenset())
    release, expiry = parse_timestamp(body.get(RELEASE)), parse_timestamp(body.get(EXPIRATION))
    return (
        (GROUPS in body and not frozenset(body[GROUPS]) <= old.groups)
        or (release is not None and (old.release_at is None or release < old.release_at))
        or (EXPIRATION in body and old.expires_at is not None and (expiry is None or expiry > old.expires_at))
    )


def narrows(before: Json, body: Json) -> bool:
    """The same the other way round: whether it shuts somebody out, or earlier."""
    old = rights_of(before, frozenset())
    release, expiry = parse_timestamp(body.get(RELEASE)), parse_timestamp(body.get(EXPIRATION))
    return (
        (GROUPS in body and not old.groups <= frozenset(body[GROUPS]))
        or (RELEASE in body and old.release_at is not None and (release is None or release > old.release_at))
        or (expiry is not None and (old.expires_at is None or expiry < old.expires_at))
    )


def second_text(when: datetime) -> str:
    """A timestamp as the service keeps it, in whole seconds (wire E 1.5)."""
    return instant_text(when.replace(microsecond=0))


def forms_of_security(body: Json) -> frozenset[str]:
    """Taking a date away is such a form."""
    return frozenset(form for form, name in CLEARED.items() if name in body and body[name] is None)


def has_content(patch: Patch) -> bool:
    """Whether anything but rights is changed."""
    return bool(patch.fields or patch.tags_add or patch.tags_remove or patch.filename is not None)
