"""The job file: every fault at once, with file, line and the nearest right key; secrets by reference only."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from pydantic import ValidationError

from dam_sync.api.job_file import job_of
from dam_sync.config.job import ExposureConfig, JobConfig, PolicyConfig, SideLimits, load_job
from dam_sync.config.options import AuthMethod, Options, PasswordAuth, Seconds, TokenAuth, Words
from dam_sync.model.conflict import ConflictPolicy, ConflictRules
from dam_sync.model.connector import Connector
from dam_sync.model.errors import ConfigError
from dam_sync.model.exposure import ExposureRule, Waiver
from dam_sync.services import discover


class MadeUpOptions(Options):
    version_policy: Literal["none", "file_only"] = "none"
    index_lag: Seconds = 0.0
    reading: str = ""
    names: Words = ()


class SignedMethod(AuthMethod):
    client_id: str
    key: str
    algorithm: Literal["HS256", "HS512"] = "HS256"


class ClientMethod(AuthMethod):
    token_url: str
    client_id: str
    client_secret: str


def kind(name: str, auth: Mapping[str, type[AuthMethod]], *, two: bool = False) -> Connector:
    """An invented kind, in everything else like some real one."""
    real = next(iter(discover().values()))
    return replace(real, name=name, options=MadeUpOptions, auth=auth, needs_tenant_url=two)


KINDS = {
    "alpha": kind("alpha", {"basic": PasswordAuth, "signed_token": SignedMethod}),
    "beta": kind("beta", {"token": TokenAuth, "client": ClientMethod}, two=True),
}

JOB = """\
version: 1
name: museum
source:
  kind: alpha
  base_url: https://museum.dam.example
  auth: {flow: basic, login: dam-sync, password: "${env:A_PASSWORD}"}
  options: {index_lag: 5}
target:
  kind: beta
  base_url: https://api.dam.example
  tenant_url: https://museum.dam.example
  auth: {flow: token, token: "${file:token.txt}"}
mapping: ../mappings/museum.yaml
limits: {calls_per_second: 40, max_calls: 400000, concurrency: 16, bandwidth: 50MB/s}
policy: {deletes: none, conflicts: overwrite, versions: current, verify: bytes}
"""


def load(folder: Path, text: str) -> JobConfig:
    path = folder / "jobs" / "museum.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return load_job(path, KINDS)


def told(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    assert caught.value.exit_code == 2
    assert [str(fault) for fault in caught.value.diagnostics] == caught.value.message.split("\n")
    return [str(fault).replace(f"{folder / 'jobs'}/", "") for fault in caught.value.diagnostics]


def test_a_whole_job(tmp_path: Path) -> None:
    job = load(tmp_path, JOB)
    assert (job.name, job.source.kind, job.target.tenant_url) == ("museum", "alpha", "https://museum.dam.example")
    assert job.mapping_path == tmp_path / "mappings" / "museum.yaml"
    assert job.state_path == tmp_path / "state" / "museum.db"
    assert job.limits == SideLimits(calls_per_second=40, max_calls=400_000, concurrency=16, bandwidth=50_000_000)
    assert (job.policy.versions, job.policy.verify) == ("current", "bytes")
    assert job.policy.conflicts.rules == ConflictRules(ConflictPolicy.SOURCE), "overwrite is its former name"
    assert job.source.auth.flow == "basic"
    assert job.source.auth.parameters == {"login": "dam-sync", "password": "${env:A_PASSWORD}"}
    assert job.source.options == {"index_lag": 5}


def test_a_text_for_a_service_is_what_stands_in_the_file(tmp_path: Path) -> None:
    for spelling in ("010", "1.10", "+33123", "0x1F", "1e3", "1_000", "2020-01-01 10:00"):
        text = JOB.replace("index_lag: 5", f"index_lag: 0.50, reading: {spelling}, names: [{spelling}]")
        job = load(tmp_path, text.replace("login: dam-sync", f"login: {spelling}"))
        assert KINDS["alpha"].options.model_validate(job.source.options) == MadeUpOptions(
            index_lag=0.5, reading=spelling, names=(spelling,)
        )
        assert job.source.auth.parameters["login"] == spelling
        assert {type(value) for value in job.source.options.values()} == {str, list}
        waves = f"waves: [{{name: one, select: {{fields: {{{spelling.split()[0]}: [{spelling}]}}}}}}]\n"
        (wave,) = load(tmp_path, JOB + waves).waves
        assert wave.select == {"fields": {spelling.split()[0]: [spelling]}}


def test_numbers_of_a_job_may_be_spelt_as_yaml_allows(tmp_path: Path) -> None:
    job = load(
        tmp_path, JOB.replace("calls_per_second: 40, max_calls: 400000", "calls_per_second: 4.0e1, max_calls: 400_000")
    )
    assert (job.limits.calls_per_second, job.limits.max_calls) == (40, 400_000)


def test_a_number_where_a_text_belongs_is_refused_with_what_to_write(tmp_path: Path) -> None:
    assert told(tmp_path, JOB.replace("name: museum", "name: 010")) == [
        "museum.yaml:2:1: name: should be text; put it in quotes"
    ]


@pytest.mark.parametrize(
    ("state", "path"),
    [
        ("museum.db", "jobs/museum.db"),
        ("../elsewhere/m.db", "elsewhere/m.db"),
        ("/var/lib/m.db", "/var/lib/m.db"),
        ("sqlite:///m.db", "jobs/m.db"),
    ],
)
def test_paths_are_relative_to_the_job_file(tmp_path: Path, state: str, path: str) -> None:
    assert load(tmp_path, f"{JOB}state: {state}\n").state_path == tmp_path / path


def test_a_literal_password_of_a_state_is_refused(tmp_path: Path) -> None:
    (fault,) = told(tmp_path, f"{JOB}state: postgresql+psycopg://user:pw@host/db\n")
    assert fault.startswith("museum.yaml:16:1: state: ")
    assert "a literal password is not allowed" in fault
    assert "pw" not in fault


def test_a_mapping_file_instead_of_a_job_file_is_named_as_one(tmp_path: Path) -> None:
    mapping = tmp_path / "museum.mapping.yaml"
    mapping.write_text("version: 1\nfields:\n  key: {marker: true}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mapping\.yaml is a mapping file, not a job file") as raised:
        load_job(mapping, KINDS)
    assert "whose `mapping` names it" in raised.value.hint


def test_every_diagnostic_is_reported_at_once_with_its_line(tmp_path: Path) -> None:
    text = """\
version: 2
name: my museum
source:
  kind: alfa
  base_url: http://museum.dam.example
  auth: {flow: basic, login: 7, password: hunter2}
target:
  kind: beta
  base_url: https://user:hunter3@api.dam.example
  auth: {flow: client, token_url: "http://host/t", client_id: "${env:}", client_secret: "Bearer ${env:X}", extra: 1}
  options: {version_polcy: x, index_lag: "${env:X}"}
  tenant: https://x
maping: x.yaml
limits: {calls_per_second: 0, max_calls: many, bandwidth: fast, concurency: 3, hours: "20-06:00"}
policy: {deletes: purge, max_deletes: 5 %%, grace: soon, conflicts: fight}
webhooks: {listen: x, public_url: "http://hook.example", secret: hunter5}
schedule: {cron: "61 * * * *", zone: Europe/Pariss, evry: 5m, jitter: 10}
notify: {url: "http://hook.example", secret: hunter4, on: [parkd]}
"""
    found = told(tmp_path, text)
    assert found == [
        "museum.yaml:1:1: version: should be 1",
        "museum.yaml:1:1: file: mapping is missing; add the key mapping",
        "museum.yaml:2:1: name: should consist of letters, digits, '-', '_' and '.', and begin with a letter or digit",
        "museum.yaml:4:3: source.kind: there is no kind alfa; did you mean alpha?",
        "museum.yaml:5:3: source.base_url: http:// is allowed for localhost only; write https://…",
        "museum.yaml:6:23: source.auth.login: should be text; put it in quotes",
        "museum.yaml:6:33: source.auth.password: a literal secret is not allowed in a job file; write ${env:NAME}, "
        "${file:PATH}, ${command:ARGS} or ${keyring:service/user}, for example ${env:SOURCE_PASSWORD}",
        "museum.yaml:7:1: target: tenant_url is missing; beta has two URLs",
        "museum.yaml:9:3: target.base_url: contains more than host and path; credentials belong under auth",
        "museum.yaml:10:24: target.auth.token_url: http:// is allowed for localhost only; write https://…",
        "museum.yaml:10:52: target.auth.client_id: is not a reference to a secret; write the whole value as "
        "${env:NAME}, ${file:PATH}, ${command:ARGS} or ${keyring:service/user}",
        "museum.yaml:10:74: target.auth.client_secret: is not a reference to a secret; write the whole value as "
        "${env:NAME}, ${file:PATH}, ${command:ARGS} or ${keyring:service/user}",
        "museum.yaml:10:108: target.auth.extra: should be text; put it in quotes",
        "museum.yaml:10:108: target.auth.extra: unknown key; known: client_id, client_secret, token_url",
        "museum.yaml:11:13: target.options.version_polcy: beta has no option version_polcy; "
        "did you mean version_policy?",
        "museum.yaml:11:31: target.options.index_lag: references to secrets are allowed under auth only",
        "museum.yaml:12:3: target.tenant: unknown key; did you mean tenant_url?",
        "museum.yaml:13:1: maping: unknown key; did you mean mapping?",
        "museum.yaml:14:10: limits.calls_per_second: should be greater than 0",
        "museum.yaml:14:31: limits.max_calls: should be a whole number",
        "museum.yaml:14:48: limits.bandwidth: should be bytes per second, for example 50MB/s",
        'museum.yaml:14:80: limits.hours: should be times of day, for example "20:00-06:00"',
        "museum.yaml:14:65: limits.concurency: unknown key; did you mean concurrency?",
        "museum.yaml:15:10: policy.deletes: should be 'none' or 'trash'",
        "museum.yaml:15:26: policy.max_deletes: should be a share or a number of assets, for example 5% or 20",
        "museum.yaml:15:45: policy.grace: should be a duration: 90s, 15m, 8h or 7d",
        "museum.yaml:15:58: policy.conflicts: should be one of park, source, target, newest, merge, "
        "or a policy for each value",
        "museum.yaml:16:23: webhooks.public_url: should be a URL that begins with https://",
        "museum.yaml:16:58: webhooks.secret: a literal secret is not allowed; write ${env:NAME}, ${file:PATH}, "
        "${command:ARGS} or ${keyring:service/user}",
        "museum.yaml:17:12: schedule.cron: should be a cron expression of five fields (bad minute), "
        'for example "*/15 * * * *"',
        "museum.yaml:17:32: schedule.zone: should be the name of a time zone, for example Europe/Paris",
        "museum.yaml:17:63: schedule.jitter: should be a duration: 90s, 15m, 8h or 7d",
        "museum.yaml:17:53: schedule.evry: unknown key; did you mean every?",
        "museum.yaml:18:10: notify.url: should be a URL that begins with https://, or a reference such as "
        "${env:NOTIFY_URL}",
        "museum.yaml:18:38: notify.secret: a literal secret is not allowed; write ${env:NAME}, ${file:PATH}, "
        "${command:ARGS} or ${keyring:service/user}",
        "museum.yaml:18:60: notify.on[0]: should be 'finished', 'parked', 'conflicts' or 'stopped'",
    ]
    assert not any(secret in line for line in found for secret in ("hunter2", "hunter3", "hunter4", "hunter5"))


def test_a_key_that_belongs_one_level_below_is_sent_there(tmp_path: Path) -> None:
    misplaced = JOB.replace("  kind: beta\n", "  kind: beta\n  index_lag: 5\n  client_id: x\n") + "concurrency: 3\n"
    assert told(tmp_path, misplaced) == [
        "museum.yaml:10:3: target.index_lag: unknown key; write it below options:",
        "museum.yaml:11:3: target.client_id: unknown key; write it below auth:",
        "museum.yaml:18:1: concurrency: unknown key; write it below limits:",
    ]


def test_a_value_may_have_a_conflict_policy_of_its_own(tmp_path: Path) -> None:
    given = "conflicts: {default: newest, fields: {title: target}, file: source, rights: park}"
    rules = load(tmp_path, JOB.replace("conflicts: overwrite", given)).policy.conflicts.rules
    paths = ("fields.note", "fields.title", "file", "release", "groups", "placements.folder", "status")
    assert [rules.of(path).value for path in paths] == [
        "newest",
        "target",
        "source",
        "park",
        "park",
        "newest",
        "newest",
    ]
    assert rules.fields == {"title"}
    wrong = "conflicts: {defualt: park, fields: {title: both}, tags: park}"
    assert told(tmp_path, JOB.replace("conflicts: overwrite", wrong)) == [
        "museum.yaml:15:61: policy.conflicts.fields.title: should be 'park', 'source', 'target', 'newest' or 'merge'",
        "museum.yaml:15:37: policy.conflicts.defualt: unknown key; did you mean default?",
        "museum.yaml:15:75: policy.conflicts.tags: unknown key; did you mean status?",
    ]


def test_what_may_be_more_visible_is_accepted_rule_by_rule(tmp_path: Path) -> None:
    given = "exposure: {archived_as_published: accept, groups_widened: close}"
    job = load(tmp_path, JOB.replace("deletes: none", given))
    assert job.policy.exposure.waivers.given == {
        ExposureRule.ARCHIVED: Waiver.ACCEPT,
        ExposureRule.GROUPS: Waiver.CLOSE,
    }
    assert load(tmp_path, JOB).policy.exposure.waivers.given == {}
    assert set(ExposureConfig.model_fields) == {rule.value for rule in ExposureRule}


def test_only_known_rules_and_words_are_taken_and_no_switch_for_all(tmp_path: Path) -> None:
    def faults(exposure: str) -> list[str]:
        return told(tmp_path, JOB.replace("deletes: none", f"exposure: {exposure}"))

    assert faults("{archived_as_publshed: accept}") == [
        "museum.yaml:15:21: policy.exposure.archived_as_publshed: unknown key; did you mean archived_as_published?"
    ]
    assert faults("{groups_widened: yes}") == [
        "museum.yaml:15:21: policy.exposure.groups_widened: should be 'accept' or 'close'"
    ]
    assert faults("accept") == [
        "museum.yaml:15:10: policy.exposure: should contain keys and values; write {key: value}"
    ]


@pytest.mark.parametrize(
    ("old", "new", "start"),
    [
        (
            "flow: basic",
            "flow: bsic",
            "museum.yaml:6:10: source.auth.flow: alpha has no flow bsic; did you mean basic?",
        ),
        ("login: dam-sync, ", "", "museum.yaml:6:3: source.auth: login is missing; flow basic needs it"),
        ("flow: basic, ", "", "museum.yaml:6:3: source.auth: flow is missing"),
        ("https://api.dam.example", "api.dam.example", "museum.yaml:10:3: target.base_url: is not a URL"),
        ("https://api.dam.example", "https://[::1", "museum.yaml:10:3: target.base_url: is not a URL"),
        ("https://api.dam.example", "https://h:99999", "museum.yaml:10:3: target.base_url: is not a URL"),
        ("https://api.dam.example", "ftp://h", "museum.yaml:10:3: target.base_url: is not a URL"),
        ("https://api.dam.example", "https://h?token=x", "museum.yaml:10:3: target.base_url: contains more"),
        ("kind: beta", "kind: [beta]", "museum.yaml:9:3: target.kind: should be text"),
        ('"${file:token.txt}"', "wat_demo", "museum.yaml:12:23: target.auth.token: a literal secret is not allowed"),
        ('"${file:token.txt}"', "12345", "museum.yaml:12:23: target.auth.token: a literal secret is not allowed"),
        ('"${file:token.txt}"', "$B_PW", "museum.yaml:12:23: target.auth.token: looks like a shell variable"),
        ('"${file:token.txt}"', '"${B_PW}"', "museum.yaml:12:23: target.auth.token: looks like a shell variable"),
        ('"${file:token.txt}"', '"${vault:x}"', "museum.yaml:12:23: target.auth.token: is not a reference to a secret"),
        (
            'auth: {flow: token, token: "${file:token.txt}"}',
            "auth: token",
            "museum.yaml:12:3: target.auth: should contain keys",
        ),
        ("name: museum", "name: ../x", "museum.yaml:2:1: name: "),
    ],
)
def test_one_diagnostic_at_a_time(tmp_path: Path, old: str, new: str, start: str) -> None:
    (fault,) = told(tmp_path, JOB.replace(old, new, 1))
    assert fault.startswith(start)


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "127.8.9.1", "[::1]:80"])
def test_plain_http_is_allowed_on_this_host_and_literal_secrets_are_not(tmp_path: Path, host: str) -> None:
    text = JOB.replace("https://museum.dam.example", f"http://{host}", 1)
    assert load(tmp_path, text).source.base_url == f"http://{host}"
    (fault,) = told(tmp_path, text.replace('"${env:A_PASSWORD}"', "secret-a"))
    assert fault.startswith("museum.yaml:6:40: source.auth.password: a literal secret is not allowed in a job file; ")
    assert "secret-a" not in fault


def test_options_are_checked_with_the_file(tmp_path: Path) -> None:
    bad = JOB.replace("{index_lag: 5}", "{index_lag: soon, version_policy: perhaps}")
    assert told(tmp_path, bad.replace("name: museum", "name: ../x")) == [
        "museum.yaml:2:1: name: should consist of letters, digits, '-', '_' and '.', and begin with a letter or digit",
        "museum.yaml:7:30: source.options.version_policy: should be 'none' or 'file_only'",
        "museum.yaml:7:13: source.options.index_lag: should be a number",
    ]


def test_each_diagnostic_knows_its_column(tmp_path: Path) -> None:
    bad = JOB.replace("{index_lag: 5}", "{index_lag: 5, version_policy: perhaps}")
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, bad)
    (found,) = refused.value.diagnostics
    assert (found.line, found.column) == (7, len("  options: {index_lag: 5, ") + 1)


@pytest.mark.parametrize("host", ["localhost.example", "128.0.0.1", "10.0.0.1", "127.0.0.1.example"])
def test_hosts_that_only_look_like_this_host(tmp_path: Path, host: str) -> None:
    (fault,) = told(tmp_path, JOB.replace("https://museum.dam.example", f"http://{host}", 1))
    assert "http:// is allowed for localhost only" in fault


def test_no_text_of_a_job_shows_a_parameter(tmp_path: Path) -> None:
    text = JOB.replace("login: dam-sync", "login: hunter2", 1)
    job = load(tmp_path, text)
    assert "hunter2" not in f"{job!r} {job} {job.source!r} {job.source.auth!r} {job.source.auth}"


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("version: [", "museum.yaml:1:11: YAML: "),
        ("- a\n", "museum.yaml:1: file: is not a job file"),
        ("", "museum.yaml:1: file: is not a job file"),
        ("version: 1\nversion: 1\n", "museum.yaml:2:1: YAML: found duplicate key"),
        pytest.param("#" * 1_000_001, "museum.yaml:1: file: is larger than 1,000,000 bytes", id="too large"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, start: str) -> None:
    (fault,) = told(tmp_path, text)
    assert fault.startswith(start)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no job file"):
        load_job(tmp_path / "no.yaml", KINDS)
    with pytest.raises(ConfigError, match="is a folder, not a job file"):
        load_job(tmp_path, KINDS)
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9\n")
    with pytest.raises(ConfigError, match=r"latin\.yaml:1: file: is not UTF-8"):
        load_job(tmp_path / "latin.yaml", KINDS)


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("50MB/s", 50e6),
        ("10 MiB/s", 10 * 1024**2),
        ("1.5kB", 1500.0),
        ("800B/s", 800.0),
        ("2GBps", 2e9),
        ("12345", None),
    ],
)
def test_bandwidth(tmp_path: Path, text: str, bytes_: float | None) -> None:
    job = JOB.replace("50MB/s", text if bytes_ else f"'{text}'")
    if bytes_ is None:
        assert "for example 50MB/s" in told(tmp_path, job)[0]
    else:
        assert load(tmp_path, job).limits.bandwidth == bytes_


@pytest.mark.parametrize(
    "auth", ['{password: "Hunter2-SECRET", password: "Hunter3-SECRET"}', "{password: *Hunter2-SECRET}"]
)
def test_what_a_parser_says_of_values_is_not_repeated(tmp_path: Path, auth: str) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(f"version: 1\nsource:\n  auth: {auth}\n")
    with pytest.raises(ConfigError) as told:
        load_job(job, discover())
    assert "SECRET" not in f"{told.value} {told.value.as_json()}"
    assert ":3:" in str(told.value)


FOLDER = replace(KINDS["alpha"], name="shelf", auth={}, schemes=("file",), base_url_optional=True)
SHELF = """\
version: 1
name: shelf
source: {kind: shelf, base_url: file:///archive, options: {index_lag: 5}}
target: {kind: shelf}
mapping: mapping.yaml
"""


def test_a_kind_may_have_another_scheme_no_credentials_and_no_url(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(SHELF, encoding="utf-8")
    job = load_job(path, {"shelf": FOLDER})
    assert (job.source.base_url, job.source.auth) == ("file:///archive", None)
    assert (job.target.base_url, job.folder) == ("", tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("file:///archive", "https://archive", "source.base_url: is not a URL; write file:///folder"),
        ("file:///archive", "file:", "source.base_url: is not a URL; write file:///folder"),
        ("file:///archive", "file:///archive?x=1", "source.base_url: contains more than host and path"),
        ("{kind: shelf}", "{kind: shelf, auth: {flow: basic}}", "target.auth: shelf takes no credentials"),
        ("{kind: shelf}", "{kind: alpha}", "target: base_url is missing"),
        ("{kind: shelf}", "{kind: alpha}", "target: auth is missing"),
    ],
)
def test_what_such_a_kind_does_not_take(tmp_path: Path, old: str, new: str, found: str) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(SHELF.replace(old, new), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_job(path, {**KINDS, "shelf": FOLDER})
    assert any(found in str(fault) for fault in caught.value.diagnostics), caught.value.message


@pytest.mark.parametrize(("share", "fits"), [("100%", True), ("100.1%", False), ("500%", False)])
def test_no_more_than_all_assets_can_be_removed(share: str, fits: bool) -> None:
    with nullcontext() if fits else pytest.raises(ValidationError, match="at most 100%"):
        PolicyConfig.model_validate({"max_deletes": share})


BASIC = '{flow: basic, login: ann, password: "${env:X}"}'
BY_TOKEN = '{flow: token, token: "${env:X}"}'
BY_SESSION = '{flow: session, api_key: "${env:X}", username: ann, password: "${env:Y}"}'


@pytest.mark.parametrize(
    ("side", "found"),
    [
        ("kind: fodler, options: {path: x}", "source.kind: there is no kind fodler; did you mean folder?"),
        ("kind: xyzzy, base_url: 'sftp://x'", "source.kind: there is no kind xyzzy; known: a_hypermedia, "),
        (
            f"kind: c_brandlibrary, base_url: 'https://h', auth: {BASIC}",
            "source.kind: c_brandlibrary does not take this `auth`; together with the other keys it is that of "
            "a_hypermedia or b_documents; write kind: a_hypermedia, or the `auth` of c_brandlibrary",
        ),
        (
            f"kind: a_hypermedia, base_url: 'https://h', tenant_url: 'https://t', auth: {BY_TOKEN}",
            "that of e_profiles; write kind: e_profiles, or the `auth` of a_hypermedia",
        ),
        (f"kind: b_documents, base_url: 'https://h', auth: {BY_SESSION}", "that of d_templates; write kind: d_temp"),
        (
            f"kind: e_profiles, base_url: 'https://h', tenant_url: 'https://t', auth: {BASIC}, options: {{lcales: x}}",
            "e_profiles has no flow basic; known: oauth, token; is `kind` right? basic is a flow of a_hypermedia, b_d",
        ),
        (
            f"kind: b_documents, base_url: 'https://h', auth: {BASIC}, options: {{header_prefix: X-}}",
            "b_documents has no option header_prefix; its options: dam-sync help b_documents; is `kind` right? "
            "header_prefix is an option of a_hypermedia",
        ),
    ],
    ids=["misspelt", "unknown", "flow", "second URL", "session", "more wrong", "option"],
)
def test_a_kind_that_is_not_that_of_the_rest_is_what_is_said(tmp_path: Path, side: str, found: str) -> None:
    path = tmp_path / "job.yaml"
    target = "{kind: folder, options: {path: two}}"
    text = f"version: 1\nname: museum\nsource: {{{side}}}\ntarget: {target}\nmapping: none.yaml\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        job_of(path)
    first, *others = map(str, caught.value.diagnostics)
    assert found in first
    assert ["lcales" in text or "mapping: there is no file none.yaml" in text for text in others] == [True] * len(
        others
    )
    assert "mapping: there is no file none.yaml; correct the path" in others[-1]
    path.with_name("none.yaml").touch()
    with pytest.raises(ConfigError) as caught:
        job_of(path)
    assert not any("no file" in str(each) for each in caught.value.diagnostics)
