"""What people get wrong: keys, secrets, URLs, mappings, values, names. Reported clearly; mended, it ends complete."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs.small_jobs import PASSWORD, SOURCE, TARGET, TOKEN, Small, hurry, photo, small, spoiling

BLIND = {"login": "blind", "password": "secret-blind", "permission": "READ", "folders": []}
GUEST: dict[str, Any] = {"name": "guest", "token": "wat_demo_guestguest", "groups": [], "sees": [], "orders": []}


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Small]:
    with small(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    """One pair of tenants for what is refused before anything moves; in the end everything moves."""
    with small(tmp_path_factory.mktemp("desk")) as made:
        yield made
        assert len(made.ends_complete()) == 4


@pytest.fixture
def desk(shared: Small) -> Iterator[Small]:
    """Its files may be spoilt."""
    with spoiling(shared):
        yield shared


def line_of(good: str, bad: str) -> int:
    """The first line in which two texts differ."""
    pairs = zip(good.splitlines(), bad.splitlines(), strict=False)
    return next(number for number, (one, two) in enumerate(pairs, 1) if one != two)


def password_column(desk: Small) -> int:
    """Where the key is in line 6 of the job file."""
    return desk.pair.job.read_text(encoding="utf-8").splitlines()[5].index("password:") + 1


# -- credentials -------------------------------------------------------------------------------------------------------


def test_wrong_password_of_the_source(job: Small) -> None:
    job.credential(SOURCE, "wrong-hush-hush")
    job.secrets += ("wrong-hush-hush",)
    told = job.ran("run", "--no-progress", code=7)
    told.says("a_hypermedia", "401", "`source.auth.password` of dam-sync", "in the job file")
    job.ran("plan", "--no-progress", code=7)
    findings = job.ran("check", "--json", code=7).data["findings"]
    assert [row["subject"] for row in findings if not row["ok"]] == ["source"]
    job.credential(SOURCE, PASSWORD)
    assert len(job.ends_complete()) == 4


def test_wrong_token_of_the_target(job: Small) -> None:
    job.credential(TARGET, "wat_demo_wronghushhush")
    job.secrets += ("wronghushhush",)
    told = job.ran("run", "--no-progress", code=7)
    told.says("e_profiles", "401", "invalid or expired", "`target.auth.token`", "in the job file")
    assert job.pair.target.writes == 0
    job.credential(TARGET, TOKEN)
    assert len(job.ends_complete()) == 4


@pytest.mark.parametrize(
    ("side", "match", "named"),
    [
        ("target", "GET /v2/assets/*", "`target.auth.token`"),
        ("source", "GET /api/dam/medias/*", "`source.auth.password` of dam-sync"),
    ],
)
def test_a_credential_revoked_during_a_run(job: Small, side: str, match: str, named: str) -> None:
    job.faulty({"match": match, "do": "status:401"}, side=side)
    told = job.ran("run", "--no-progress", code=7)
    told.says("returned 401", f"the service refuses {named} in the job file", "run the same command again")
    job.ran("status", code=0).says(f"the service refuses {named} in the job file")
    job.mend()
    assert len(job.ends_complete()) == 4


def blind(job: Small) -> None:
    job.edit("login: dam-sync", "login: blind")
    job.credential(SOURCE, "secret-blind")
    job.secrets += ("secret-blind",)


def sighted(job: Small) -> None:
    job.edit("login: blind", "login: dam-sync")
    job.credential(SOURCE, PASSWORD)


def test_a_key_that_sees_nothing_from_the_start(tmp_path: Path) -> None:
    with small(tmp_path, source_options={"lag": 0.0, "users": [BLIND]}) as job:
        blind(job)
        job.ran("run", "--no-progress", code=6).says("the source", "returns no assets", "rights", "--accept-changes")
        job.ran("check", code=6).says("FAULT", "returns no assets")
        assert job.pair.target.writes == 0
        sighted(job)
        assert len(job.ends_complete()) == 4


@pytest.mark.parametrize("options", [(), ("--full",)])
def test_a_key_that_suddenly_sees_nothing(tmp_path: Path, options: tuple[str, ...]) -> None:
    with small(tmp_path, source_options={"lag": 0.0, "users": [BLIND]}) as job:
        job.run()
        blind(job)
        told = job.ran("run", "--no-progress", *options, code=6)
        told.says("the source", "4 were moved from it before", "check the credential's rights")
        sighted(job)
        assert len(job.ends_complete("--full")) == 4


def test_a_key_of_the_target_that_may_do_nothing(tmp_path: Path) -> None:
    with small(tmp_path, target_options={"lag": 0.0, "users": [GUEST]}) as job:
        job.credential(TARGET, GUEST["token"])
        job.secrets += ("guestguest",)
        job.ran("run", "--no-progress", code=2).says(
            "security.groups.const", "not in the list", "the target returns none: check the permissions"
        )
        assert job.pair.target.writes == 0
        job.credential(TARGET, TOKEN)
        assert len(job.ends_complete()) == 4


# -- job file and secrets ----------------------------------------------------------------------------------------------

MISSPELT = (
    ("mapping:", "maping:", ("maping: unknown key; did you mean mapping?", "mapping is missing")),
    ("base_url:", "base_ulr:", ("source.base_ulr: unknown key; did you mean base_url?",)),
    ("flow: basic", "flow: basik", ("source.auth.flow", "has no flow basik; did you mean basic?")),
    ("login: dam", "logn: dam", ("source.auth.logn: unknown key; did you mean login?", "login is missing")),
    ("version_policy:", "version_polcy:", ("has no option version_polcy; did you mean version_policy?",)),
    ("kind: e_profiles", "kind: e_profile", ("there is no kind e_profile; did you mean e_profiles?",)),
    (
        "name: test",
        "name: test\nschedule: {cron: daily}",
        ("schedule.cron: should be a cron expression of five fields",),
    ),
    ("name: test", "waves: [first]", ("waves[0]: should contain keys and values",)),
    ("name: test", "name: [test", ("YAML",)),
)


@pytest.mark.parametrize(("old", "new", "words"), MISSPELT, ids=[new for _, new, _ in MISSPELT])
def test_misspelt_keys_of_the_job_file(desk: Small, old: str, new: str, words: tuple[str, ...]) -> None:
    good = desk.pair.job.read_text(encoding="utf-8")
    bad = good.replace(old, new, 1)
    desk.pair.job.write_text(bad, encoding="utf-8")
    told = desk.ran("run", "--no-progress", code=2).says(*words)
    if "YAML" not in words:  # what is wrong there is seen lines later
        assert f"{desk.pair.job}:{line_of(good, bad)}:" in told.err


def test_a_missing_job_file(desk: Small) -> None:
    good = desk.pair.job
    desk.pair.job = good.with_name("jobb.yaml")
    desk.process("run", code=2).says("there is no job file", "jobb.yaml", "give the path of a job file")


REFERENCE = "${file:secrets/a_hypermedia}"
SECRETS = (
    ("${env:NOBODY_SET_THIS}", ("${env:NOBODY_SET_THIS} is not set", "export NOBODY_SET_THIS")),
    ("${file:not/there}", ("${file:not/there} cannot be read: No such file", "correct the path")),
    ("${file:bytes}", ("${file:bytes} is not text",)),
    ("${file:empty}", ("${file:empty} is empty", "store the secret there")),
    ("${command:false}", ("${command:false} ended with exit code 1", "run the command yourself to see why")),
    ("${command:not-a-program}", ("${command:not-a-program} cannot be run: No such file",)),
    ("${keyring:nobody}", ("${keyring:nobody}",)),
    ("${enw:NAME}", ("is not a reference to a secret", "${env:NAME}")),
    ("pre${env:HOME}", ("is not a reference to a secret",)),
)


@pytest.mark.parametrize(("reference", "words"), SECRETS, ids=[reference for reference, _ in SECRETS])
def test_a_secret_that_does_not_resolve(desk: Small, reference: str, words: tuple[str, ...]) -> None:
    (desk.pair.folder / "bytes").write_bytes(b"\xff\xfe\xfd")
    (desk.pair.folder / "empty").touch()
    desk.edit(REFERENCE, reference)
    told = desk.ran("run", "--no-progress", code=2).says(*words)
    assert f"{desk.pair.job}:6:{password_column(desk)}: source.auth.password" in told.err
    assert sum(desk.pair.target.calls.values()) == 0


@pytest.mark.parametrize("verb", ["check", "plan", "run", "status"])
def test_a_literal_secret_in_the_job_file(desk: Small, verb: str) -> None:
    desk.edit(REFERENCE, PASSWORD)
    told = desk.ran(verb, "--no-progress", code=2).says("a literal secret is not allowed in a job file")
    told.says("${env:SOURCE_PASSWORD}", "${env:NAME}, ${file:PATH}, ${command:ARGS} or ${keyring:service/user}")
    assert f"{desk.pair.job}:6:{password_column(desk)}: source.auth.password" in told.err


def test_a_variable_of_the_shell_in_the_job_file(desk: Small) -> None:
    desk.edit(REFERENCE, "$A_PW")
    desk.ran("run", "--no-progress", code=2).says("looks like a shell variable", "write ${env:A_PW}")


# -- URLs --------------------------------------------------------------------------------------------------------------

ADDRESSES = (
    ("http://127.0.0.1:9", 5, ("127.0.0.1", "refused the connection", "check the port")),
    ("https://dam.invalid", 5, ("dam.invalid", "is not known", "DNS")),
    ("https://127.0.0.1:{port}", 2, ("no secure connection to 127.0.0.1", "check the URL and its port")),
    ("http://dam.example", 2, ("source.base_url: http:// is allowed for localhost only; write https://",)),
    ("http://192.0.2.7:8080", 2, ("source.base_url: http:// is allowed for localhost only",)),
    ("https://user:hush-hush@dam.example", 2, ("contains more than host and path; credentials belong under auth",)),
    ("dam.example", 2, ("source.base_url: is not a URL; write https://host",)),
)


@pytest.mark.parametrize(("address", "code", "words"), ADDRESSES, ids=[address for address, _, _ in ADDRESSES])
def test_a_url_that_leads_nowhere(desk: Small, address: str, code: int, words: tuple[str, ...]) -> None:
    url = desk.pair.source.url
    desk.secrets += ("hush-hush",)
    desk.edit(f"base_url: {url}\n", f"base_url: {address.format(port=url.rpartition(':')[2])}\n")
    desk.ran("run", "--no-progress", code=code).says(*words)


# -- mapping -----------------------------------------------------------------------------------------------------------

TITLE = (
    "title: {from: [fields.title.en, fields.title.fr, filename], pipe: [trim, {truncate: {max: 255, on_cut: park}}], "
    "required: true}\n"
)
LONG = "x" * 300
WRONG = (
    ("misspelt key", "titleFr: {from:", "titleFr: {form:", ("form: unknown key", "did you mean from?")),
    ("misspelt block", "placements:", "placments:", ("placments: unknown key", "did you mean placements?")),
    ("misspelt verb", "[strip_html, trim]", "[strip_htlm, trim]", ("strip_htlm", "did you mean strip_html?")),
    ("field the target lacks", "credit: {", "credits: {", ("credits: the target has no such field", "mean credit?")),
    ("field the source lacks", "fields.height_cm", "fields.heigth_cm", ("heigth_cm", "did you mean")),
    ("wrong type", "heightCm: {from: fields.height_cm}", "heightCm: {from: imported_at}",
     ("values of kind instant do not fit a field of kind number",)),
    ("several for one", '"fields.photographer[]", pipe: [{join: {with: "; "}}]', '"fields.photographer[]"',
     ("may return several values but the target accepts one", "first or join")),
    ("constant too long", "inventory: {from: fields.inventory}", f"inventory: {{const: {LONG}}}",
     ("too long", "300 characters, at most 255")),
    ("outside a closed list", "groups: {const: [public]}", "groups: {const: [pubic]}",
     ("not in the list", "pubic", "did you mean public?")),
    ("profile", "default: documents", "default: dokuments", ("no profile dokuments", "did you mean documents?")),
    ("missing required", TITLE, "\n", ("the target requires title", "no line writes it", "add a line")),
    ("vocabulary", "target: subject,", "target: subjekt,", ("no vocabulary subjekt", "did you mean subject?")),
    ("YAML", "locales: [en, fr]", "locales: [en, fr", ("YAML",)),
)  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_mapping_that_does_not_fit(desk: Small, old: str, new: str, words: tuple[str, ...]) -> None:
    path = desk.pair.folder / "mapping.yaml"
    good = path.read_text(encoding="utf-8")
    assert old in good
    bad = good.replace(old, new, 1)
    path.write_text(bad, encoding="utf-8")
    told = desk.ran("run", "--no-progress", code=2).says(*words)
    if "YAML" not in words and "add a line" not in words[-1]:
        assert f"{path}:{line_of(good, bad)}:" in told.err
    assert f"{path}:" in told.err
    desk.ran("check", code=2).says(*words)


def test_every_diagnostic_of_a_mapping_is_reported_at_once(desk: Small) -> None:
    path = desk.pair.folder / "mapping.yaml"
    good = path.read_text(encoding="utf-8")
    bad = good.replace("credit: {", "credits: {").replace("shotDate: {", "shotDay: {").replace("documents}", "papers}")
    path.write_text(bad, encoding="utf-8")
    told = desk.ran("run", "--no-progress", code=2)
    assert told.err.count(f"{path}:") == 3


# -- values that do not fit: parked one by one, the others go through --------------------------------------------------

PARKING = "country: {source: country, target: country, match: [exact, casefold], unmatched: park}"
ATLANTIS = {"record": "term", "vocabulary": "countries", "id": "c9", "labels": {"en": "Atlantis"}}
ENGLISH = {"title": {"texts": {"en": "x" * 255}}}
VALUES = (
    ("too long", {"inventory": "M" * 100}, "inventory: {from: fields.inventory}",
     "inventory: {from: fields.inventory, pipe: [{truncate: {max: 9, on_cut: park}}]}",
     ("inventory", "100 characters, at most 9")),
    ("outside a closed list", {"country": {"id": "c9", "label": "Atlantis"}}, PARKING.replace("park", "drop"), PARKING,
     ("country", "Atlantis")),
    ("missing required", {"inventory": ""}, "inventory: {from: fields.inventory}",
     "inventory: {from: fields.inventory, required: true}", ("inventory", "required")),
    ("of the wrong type", {"inventory": "tall"}, "heightCm: {from: fields.height_cm}",
     "heightCm: {from: fields.inventory}", ("heightCm", "wrong kind")),
)  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "good", "bad", "words"), [row[1:] for row in VALUES], ids=[row[0] for row in VALUES]
)
def test_a_value_that_does_not_fit(
    tmp_path: Path, fields: dict[str, Any], good: str, bad: str, words: tuple[str, ...]
) -> None:
    others = [photo(1, inventory="1"), photo(2, inventory="2")]
    with small(tmp_path, [*others, photo(3, **fields)], source=[ATLANTIS]) as job:
        path = tmp_path / "mapping.yaml"
        text = path.read_text(encoding="utf-8")
        start = good if good in text else PARKING
        assert start in text
        path.write_text(text.replace(start, bad), encoding="utf-8")
        report = job.run(code=4).data
        assert (report["counts"]["created"], report["counts"]["parked"]) == (2, 1)
        (row,) = job.parked()
        assert all(word in row["message"] for word in words), row
        assert "mapping file" in row["hint"]
        assert row["filename"], row
        assert row["title"], row
        shown = job.ran("errors", code=0).says("Parked: 1", row["filename"], row["title"])
        assert shown.err.rstrip().endswith("--retry"), "the next command stands last"
        path.write_text(text.replace(start, good), encoding="utf-8")
        assert len(job.ends_complete("--full")) == 3


def test_ten_thousand_characters(tmp_path: Path) -> None:
    tale = "Été 🦭 “quoted” <b>&amp;</b> \\ \t\n" * 400
    tale = tale[:10_000].strip()
    assets = [photo(1, description={"texts": {"en": tale}}), photo(2, credit=f"<p>{'y' * 10_000}</p>")]
    with small(tmp_path, assets) as job:
        assert job.run(code=4).data["counts"]["parked"] == 1
        (row,) = job.parked()
        assert "credit: too long: 10000 characters, at most 1280" in row["message"]
        (told,) = (one["fields"]["description"] for one in job.pair.target.assets)
        assert told == tale
        mapping = tmp_path / "mapping.yaml"
        cut = mapping.read_text(encoding="utf-8").replace(
            "[strip_html, trim]", "[strip_html, trim, {truncate: {max: 1280, on_cut: note}}]"
        )
        mapping.write_text(cut, encoding="utf-8")
        assert len(job.ends_complete("--full")) == 2


def test_sixteen_thousand_terms_at_source_and_target(tmp_path: Path) -> None:
    numbers = range(16_000)
    theirs = [
        {"record": "term", "vocabulary": "subjects", "id": f"t{n}", "parent": "1", "labels": {"en": f"Subject {n}"}}
        for n in numbers
    ]
    ours = [
        {"record": "term", "vocabulary": "subject", "id": f"s{n}", "labels": {"en": f"Subject {n}"}}
        for n in numbers[1:]
    ]
    assets = [
        photo(n, keywords=[{"id": f"t{m}", "label": f"Subject {m}"} for m in (0, n, 15_999)]) for n in range(1, 4)
    ]
    with small(tmp_path, assets, source=theirs, target=ours) as job:
        report = job.run().data
        assert report["operations"]["term"] == 1  # the one that the target lacks
        for one in job.ends_complete():
            assert {"Subject 0", "Subject 15999"} < {term["label"] for term in one["fields"]["subject"]}


# -- file names --------------------------------------------------------------------------------------------------------

DECOMPOSED = "e\u0301te\u0301 n\u0303.jpg"
NAMES = (
    "a/b\\c.jpg",
    "../../../etc/passwd.jpg",
    "..",
    "nul\0byte.jpg",
    "line\r\nX-Evil: 1\t\x07bell\x7f.jpg",
    "x" * 300 + ".jpg",
    DECOMPOSED,
    "👩‍👩‍👧‍👦 🏳️‍🌈 seal.jpg",
    "תמונה של הים.jpg",
    "exe\u202egpj.txt",
    "CON",
    "lpt1.jpg",
    "  . ",
    "quote\"semi;'%00%2e%2e.jpg",
)


STRICT = {"lag": 0.0, "variant": "strict_names"}


def names_are_safe(names: Sequence[str]) -> None:
    for name in names:
        assert 0 < len(name) <= 128
        assert not set('/\\:*?"<>|') & set(name)
        assert not any(unicodedata.category(letter) == "Cc" or letter == "\u202e" for letter in name)
        assert name.strip(" .") not in ("", "CON", "lpt1.jpg")
    assert "תמונה של הים.jpg" in names


def test_awkward_file_names(tmp_path: Path) -> None:
    with small(tmp_path, [photo(number, name=name) for number, name in enumerate(NAMES, 1)]) as job:
        names = [asset["filename"] for asset in job.ends_complete()]
        assert len(names) == len(NAMES)
        assert all(unicodedata.is_normalized("NFC", name) for name in names)
        names_are_safe(names)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["job.yaml", "mapping.yaml", "secrets", "state"]
        assert not list((tmp_path / "state" / "spool").glob("*"))


def test_awkward_file_names_that_the_target_refuses(tmp_path: Path) -> None:
    """A line that leaves them as they are brings them over too: what the target refuses is replaced and reported."""
    assets = [photo(number, name=name) for number, name in enumerate(NAMES, 1)]
    as_it_is = "filename: {from: filename}"
    safe = "filename: {from: filename, pipe: [nfc, {safe_name: {max: 128}}]}"
    with small(tmp_path, assets, mapping=[(safe, as_it_is)], target_options=STRICT) as job:
        report = job.run().data
        losses = {(loss["path"], loss["rule"]) for loss in report["losses"]}
        assert ("filename", "characters that the target avoids") in losses
        there = job.ends_complete("--full")
        assert len(there) == len(NAMES)
        names = [asset["filename"] for asset in there]
        names_are_safe(names)
        assert DECOMPOSED in names  # what the target takes arrives as it is written
