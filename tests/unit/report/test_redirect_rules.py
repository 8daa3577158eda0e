"""Rules of redirects against small matchers that read them as nginx and Apache do."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.model.public_link import Redirect, counterpart, is_signed, plain_url
from dam_sync.report import sentences
from dam_sync.report.redirect_rules import apache_map, apache_rules, nginx_rules


class Nginx:
    """Reads the two maps of a configuration, and responds to requests."""

    def __init__(self, text: str) -> None:
        self.maps: dict[str, tuple[str, list[tuple[str, str]]]] = {}
        tokens = list(self._tokens(text))
        while tokens:
            name = tokens.pop(0)
            if name != "map":
                while tokens.pop(0) != ";":
                    pass
                continue
            key, variable, brace = tokens.pop(0), tokens.pop(0), tokens.pop(0)
            assert brace == "{"
            rows = []
            while (source := tokens.pop(0)) != "}":
                rows.append((source, tokens.pop(0)))
                assert tokens.pop(0) == ";"
            self.maps[variable] = (key, rows)

    def _tokens(self, text: str) -> Iterator[str]:
        """A quoted parameter ends at a quote without a backslash; comments run to the end of the line."""
        place = 0
        while place < len(text):
            letter = text[place]
            if letter.isspace():
                place += 1
            elif letter == "#":
                place = text.index("\n", place)
            elif letter in "{};":
                yield letter
                place += 1
            elif letter == '"':
                word, place = "", place + 1
                while text[place] != '"':
                    if text[place] == "\\" and text[place + 1] in '"\\':
                        place += 1
                    word, place = word + text[place], place + 1
                yield word
                place += 1
            else:
                word = re.compile(r"[^\s{};]+").match(text, place)
                assert word is not None
                yield word[0]
                place = word.end()

    def answer(self, url: str) -> str:
        parts = urlsplit(url)
        path = re.sub("/+", "/", unquote_to_bytes(parts.path).decode())
        known = {"host": (parts.hostname or "").lower(), "uri": path, "args": parts.query}
        return self._value("dam_sync_new", known)

    def _value(self, name: str, known: dict[str, str]) -> str:
        if name in known:
            return known[name]
        key, rows = self.maps[f"${name}"]
        asked = self._filled(key, known)
        default = ""
        for source, value in rows:
            if source == "default":
                default = value
            elif not source.startswith("~") and source.encode().lower() == asked.encode().lower():
                return self._filled(value, known)
        for source, value in rows:
            if source.startswith("~") and re.search(source[1:], asked):
                return self._filled(value, known)
        return self._filled(default, known)

    def _filled(self, text: str, known: dict[str, str]) -> str:
        return re.sub(r"\$(\w+)", lambda found: self._value(found[1], known), text)


class Apache:
    """Reads a map of type `txt`, and responds to requests by the rules: with the query, then without it."""

    def __init__(self, text: str) -> None:
        rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
        assert all(len(row) == 2 for row in rows)
        self.map: dict[str, str] = {}
        for old, new in rows:
            self.map.setdefault(old, new)

    def answer(self, url: str) -> str:
        parts = urlsplit(url)
        asked = f"GET {parts.path or '/'}{'?' + parts.query if parts.query else ''} HTTP/1.1"
        found = re.match("^[A-Z]+ (/[^? ]*)([?][^ ]*)? ", asked)
        assert found is not None
        host = (parts.hostname or "").lower()
        return self.map.get(f"{host}{found[1]}{found[2] or ''}") or self.map.get(f"{host}{found[1]}", "")


HOSTS = st.sampled_from(["old.example", "CDN.old.example", "files.example"])
SEGMENT = st.text(alphabet=st.sampled_from("abAB01éÉß日 \"'\\$~{};#?&=%+,.()[]|^*<>!@:-_"), min_size=1, max_size=8)
PATHS = st.lists(SEGMENT, min_size=1, max_size=3).map(
    lambda parts: "/" + "/".join(quote(each, safe="") for each in parts)
)
QUERIES = st.one_of(
    st.just(""), st.text(alphabet='abAB01=&%$"\\é+', min_size=1, max_size=8).map(lambda text: f"?{text}")
)
LINKS = st.tuples(HOSTS, PATHS, QUERIES).map(lambda parts: plain_url("https://" + "".join(parts))).filter(bool)
NEW = PATHS.map(lambda path: plain_url(f"https://new.example{path}")).filter(bool)


def rows_of(links: Sequence[str], new: Sequence[str]) -> list[Redirect]:
    return [
        Redirect(old, there, str(n), "t", "original") for n, (old, there) in enumerate(zip(links, new, strict=False))
    ]


def same(url: str) -> str:
    return url.replace("$", "%24")


def place_of(url: str) -> tuple[str, str]:
    """Host and path, as nginx distinguishes links."""
    parts = urlsplit(url)
    return (parts.hostname or "").lower(), re.sub("/+", "/", unquote_to_bytes(parts.path).decode())


@given(st.lists(LINKS, min_size=1, max_size=12, unique_by=lambda url: (place_of(url), urlsplit(url).query)), st.data())
@settings(max_examples=150, deadline=None)
def test_every_old_link_leads_to_its_new_one_and_no_other_link_does(links: list[str], data: st.DataObject) -> None:
    rows = rows_of(links, data.draw(st.lists(NEW, min_size=len(links), max_size=len(links), unique=True)))
    nginx = Nginx("".join(nginx_rules(rows, "a job\n}")))
    apache = Apache("".join(apache_map(rows, "a job\n/x y")))
    for row in rows:
        assert (nginx.answer(row.old), apache.answer(row.old)) == (same(row.new), row.new)
        if [place_of(each.old) for each in rows].count(place_of(row.old)) == 1:  # with a query of visitor statistics
            counted = f"{row.old.partition('?')[0]}?utm_source=x"
            assert (nginx.answer(counted), apache.answer(counted)) == (same(row.new), row.new)
    assert nginx.answer("https://old.example/never/there") == apache.answer("https://old.example/never/there") == ""


def test_links_that_differ_in_case_alone_keep_apart() -> None:
    rows = rows_of(
        ["https://o.example/A.jpg", "https://o.example/a.jpg"], ["https://n.example/1", "https://n.example/2"]
    )
    nginx = Nginx("".join(nginx_rules(rows, "job")))
    assert [nginx.answer(row.old) for row in rows] == [row.new for row in rows]


def test_a_path_with_several_queries_leads_to_the_file_itself_with_any_other() -> None:
    base = "https://o.example/content/x/jpeg/a.jpg"
    rows = [
        Redirect(f"{base}?w=640", "https://n.example/640", "1", "t", "640px"),
        Redirect(f"{base}?u=1", "https://n.example/original", "1", "t", "original"),
    ]
    for answers in (Nginx("".join(nginx_rules(rows, "job"))), Apache("".join(apache_map(rows, "job")))):
        assert [answers.answer(f"{base}?{query}") for query in ("w=640", "u=1", "w=9")] == [
            *("https://n.example/640", "https://n.example/original", "https://n.example/original")
        ]
        assert answers.answer(base) == "https://n.example/original"


def test_the_apache_rules_name_their_map() -> None:
    text = apache_rules(3, "job", "/etc/apache2/redirects.map")
    assert 'RewriteMap dam_sync "txt:/etc/apache2/redirects.map"' in text
    assert text.count("RewriteRule") == 2


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_accepts_the_rules(tmp_path: Path) -> None:
    odd = [
        f"https://o.example/{quote(name)}"
        for name in ('a "b" c.jpg', "a\\b.jpg", "$x.jpg", "É.jpg", "é.jpg", "a{;}.jpg")
    ]
    rules = "".join(nginx_rules(rows_of(odd, [f"https://n.example/{n}" for n in range(len(odd))]), "job"))
    (tmp_path / "rules.conf").write_text(rules, encoding="utf-8")
    server = "server { listen 127.0.0.1:8099; if ($dam_sync_new) { return 301 $dam_sync_new; } }"
    text = (
        f"pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}} http {{ include {tmp_path}/rules.conf; {server} }}"
    )
    (tmp_path / "nginx.conf").write_text(text, encoding="utf-8")
    done = subprocess.run(["nginx", "-t", "-c", tmp_path / "nginx.conf"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "url",
    [
        "https://s.example/a.jpg?Expires=1&Signature=x",
        "https://s.example/a.jpg?X-Amz-Signature=x",
        "https://s.example/a?sv=1&sig=x",
        "https://user:word@s.example/a",
        "https://s.example/a?token=x",
    ],
)
def test_a_signed_link_is_known_by_its_parameters(url: str) -> None:
    assert is_signed(url)


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://O.example/a b.jpg#top", ""),
        ("https://O.example/é.jpg#top", "https://o.example/%C3%A9.jpg"),
        ("http://o.example", "http://o.example/"),
        ("https://o.example/100%.jpg", "https://o.example/100%25.jpg"),
        ("https://o.example/a/../b", ""),
        ("https://o.example/%00", ""),
        ("https://o.example/%ff", ""),
        ("ftp://o.example/a", ""),
        ("javascript:alert(1)", ""),
        ("https://o.example/a?w=640&x=$1", "https://o.example/a?w=640&x=$1"),
        ("https://o.example/" + "a" * 5000, ""),
        ("https://~.*/a", ""),  # nginx would read a pattern
        ("https://~(a+)+$/a", ""),
        ('https://o"x;y{z}/a', ""),
        ("https://o\u00a0p/a", ""),  # a space, for the lookup of a name
        ("https://*.example/a", ""),
        ("https://o.example./a", "https://o.example./a"),
        ("https://[2001:db8::1]:8080/a", "https://[2001:db8::1]:8080/a"),
        ("https://[", ""),
        ("https://[::1", ""),
    ],
)
def test_a_link_is_brought_into_the_form_in_which_it_is_sent(url: str, plain: str) -> None:
    assert plain_url(url) == plain
    assert not is_signed(url)


def test_a_rendition_becomes_the_same_one_else_the_file_itself() -> None:
    links = {"web": "b", "original": "a"}
    assert [counterpart(name, links) for name in ("web", "cdn", "thumbnail")] == ["web", "original", "original"]
    assert [counterpart("x", each) for each in ({"b": "1", "a": "2"}, {})] == ["a", ""]


def test_a_preview_becomes_a_preview_rather_than_the_file_itself() -> None:
    """Pages that show it would otherwise load many megabytes, and strangers would get the original."""
    links = {"original": "f", "web": "w?w=1200&u=x", "640px-landscape": "l?w=640&crop=yes", "300px": "s", "cdn": "c"}
    assert [counterpart(name, links) for name in ("200px", "300 px", "640px", "2048px", "preview")] == [
        *("300px", "300px", "web", "web", "web")
    ]
    assert counterpart("small", links, "https://a.example/x?width=80") == "300px"
    assert [counterpart(name, links) for name in ("original", "file", "640px-landscape")] == [
        *("original", "original", "640px-landscape")
    ]
    assert counterpart("preview", {"original": "f", "640px-landscape": "l?w=640&crop=yes"}) == "original"


def test_a_preview_that_becomes_the_file_itself_is_counted() -> None:
    rows = [Redirect("o", "n", "1", "t", name, became) for name, became in NAMES]
    assert [row.enlarges for row in rows] == [True, False, False, False, False]
    assert sentences.about_enlarged(0) == []
    assert sentences.about_enlarged(2)[0].startswith("2 links to previews become the file itself")


NAMES = (
    ("preview", "original"),
    ("preview", "640px"),
    ("original", "cdn"),
    ("html_viewer", "original"),
    ("preview", ""),
)
