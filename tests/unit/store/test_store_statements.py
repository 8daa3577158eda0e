from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, bindparam, create_engine, insert, select

from dam_sync.store.statements import PreparedStatement, listed_statement

THING = Table("thing", MetaData(), Column("id", Integer, primary_key=True), Column("name", String, default="none"))
ADD = PreparedStatement(insert(THING).inline(), ("id",))
NAMED = PreparedStatement(insert(THING).inline(), ("id", "name"))
AMONG = PreparedStatement(select(THING).where(THING.c.id.in_(listed_statement("ids"))).order_by(THING.c.id))
CALLED = PreparedStatement(select(THING.c.id).where(THING.c.name == bindparam("name"), THING.c.id < 10))


@pytest.fixture
def c() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        THING.create(connection)
        yield connection
    engine.dispose()


def test_rows_are_read_by_the_names_of_their_columns(c: Connection) -> None:
    NAMED.run_all(c, [{"id": 1, "name": "one"}, {"id": 2, "name": "two"}, {"id": 3, "name": "three"}])
    assert [(row.id, row.name) for row in AMONG.all(c, ids="[3, 1, 7]")] == [(1, "one"), (3, "three")]
    assert AMONG.all(c, ids="[]") == []
    assert AMONG.first(c, ids="[2]").name == "two"
    assert AMONG.first(c, ids="[9]") is None


def test_values_of_its_own_stay_and_the_others_are_asked_for(c: Connection) -> None:
    NAMED.run_all(c, [{"id": 1, "name": "same"}, {"id": 11, "name": "same"}])
    assert CALLED.value(c, name="same") == 1
    assert CALLED.value(c, name="another") is None
    with pytest.raises(sqlite3.ProgrammingError):
        CALLED.value(c)


def test_a_column_that_a_row_lacks_has_the_default_of_the_table(c: Connection) -> None:
    assert ADD.run(c, id=4) == 1
    ADD.run_all(c, [])
    assert [row.name for row in AMONG.all(c, ids="[4]")] == ["none"]
