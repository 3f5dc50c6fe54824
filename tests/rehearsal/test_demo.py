"""The demo plays both parts on one server, proves both, and leaves nothing behind."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import psycopg
import pytest

import lastro
from lastro.embedded import EmbeddedServer
from lastro.rehearsal import demo, selling
from lastro.rehearsal.proof import Proofs
from lastro.rehearsal.stage import serve


def schemas(url: str) -> set[str]:
    """The schemas of the database."""
    with psycopg.connect(url) as connection:
        return {name for (name,) in connection.execute("SELECT nspname FROM pg_catalog.pg_namespace")}


def test_made_orders_on_a_server_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file and a database it makes orders and matches, starts a server, proves all, and leaves nothing."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    proofs = demo.run(orders_made=60, teams_made=3, seed=11, processes=2)
    document = proofs.as_dict()
    assert [proof for proof in document["proofs"] if not proof["holds"]] == []
    assert document["holds"] is True
    assert {tuple(proof) for proof in document["proofs"]} == {("name", "holds", "expected", "actual")}
    names = [proof["name"] for proof in document["proofs"]]
    assert len(set(names)) == len(names)
    assert {"transfers other than expected", "matches: transfers other than expected"} <= set(names)
    assert (document["counts"]["checkouts"], document["counts"]["matches_processes"]) == (66, 2)
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_given_is_left_as_it_was(server_url: str) -> None:
    """The schemas of a part are dropped at the end, and when it fails."""
    before = schemas(server_url)
    script = selling.write_script(None, processes=1, orders_made=12, seed=1)
    assert selling.run(script, url=server_url).hold
    assert schemas(server_url) <= before
    with pytest.raises(RuntimeError, match="enough"):
        selling.run(script, url=server_url, progress=_impatient)
    assert schemas(server_url) <= before


def _impatient(line: str) -> None:
    if "checkouts" in line:
        raise RuntimeError("enough")


@pytest.mark.parametrize("arguments", [{"processes": 0}, {"processes": 65}, {"orders_made": 0}, {"teams_made": 27}])
def test_impossible_numbers_are_refused(arguments: dict[str, Any]) -> None:
    """No process, no order or too many teams are refused before anything is started."""
    with pytest.raises(lastro.InvalidInput, match=r"must be [12] …"):
        demo.run(**arguments)


def test_files_are_read_before_anything_is_started(tmp_path: Path) -> None:
    """A file of matches that can't be read is refused at once, and not when part one is over."""
    with pytest.raises(lastro.InvalidInput, match="of matches"):
        demo.run(url="nonsense", matches=[tmp_path / "nowhere.csv"])


@pytest.mark.parametrize("url", ["mariadb://localhost/x", "sqlite:///x.db", "nonsense"])
def test_a_database_it_cannot_use_is_refused(url: str) -> None:
    """A URL of another database is refused in words."""
    with pytest.raises(lastro.InvalidInput, match="postgresql://"):
        demo.run(url=url, orders_made=1)


def test_a_database_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    """A server that doesn't answer is the library's error, and not the driver's."""
    with pytest.raises(lastro.ConnectionLost):
        demo.run(url=f"postgresql:///lastro?host={tmp_path}", orders_made=1)


def test_nothing_proved_is_not_a_success() -> None:
    """An empty list of proofs doesn't hold."""
    assert not Proofs((), {}).hold
    assert Proofs((), {}).exit_code == 1


def test_an_embedded_address_is_played_on_and_let_go(tmp_path: Path) -> None:
    """embedded:///path starts that server; it stops when the demo was its only user, and its data stay."""
    server = EmbeddedServer(tmp_path / "server")
    with serve(f"embedded://{tmp_path}/server") as url:
        assert server.running
        assert schemas(url)
    assert not server.running
    assert server.path.exists()
