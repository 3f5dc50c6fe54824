"""PostgreSQL refuses root: as root it runs as somebody else, with no more rights than it needs."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import lastro
from lastro.embedded import EmbeddedServer, EmbeddedServerError, privileges
from lastro.embedded.binaries import find_binaries
from lastro.embedded.privileges import CAP_DAC_READ_SEARCH, Account, leave_to_owner, server_account, with_reach

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges to give up")

_IMPORTED_FROM = (Path(lastro.__path__[0]).parent, find_binaries().root.parent.parent)

_VISIT = """
import sys
from lastro.embedded import EmbeddedServer, EmbeddedServerError
try:
    with EmbeddedServer(sys.argv[1]) as server:
        print("served by", server.pid)
        assert open(f"/proc/{server.pid}/status").read().split("Uid:")[1].split()[0] == sys.argv[2]
except EmbeddedServerError as error:
    print("error", error)
"""


def _status(pid: int | None, name: str) -> list[str]:
    for line in Path("/proc", str(pid), "status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return line.split()[1:]
    raise AssertionError(name)


def _visit_as(user: pwd.struct_passwd, path: Path) -> str:
    """What a process of that user says after using the server; skips where it can't reach any Python or the checkout."""
    done = subprocess.run(
        [_python_of(user), "-c", _VISIT, str(path), str(user.pw_uid)],
        user=user.pw_uid,
        group=user.pw_gid,
        extra_groups=[],
        cwd="/",
        env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(str(place) for place in _IMPORTED_FROM)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def _python_of(user: pwd.struct_passwd) -> str:
    """This interpreter, or the system's where this one lies below a directory that is closed to others."""
    someone = Account(name=user.pw_name, uid=user.pw_uid, gid=user.pw_gid)
    paths: list[tuple[Path, str]] = [(place, "enter") for place in _IMPORTED_FROM]
    for python in (sys.executable, "/usr/bin/python3"):
        if Path(python).exists() and not someone.unreachable([(Path(python), "execute"), *paths]):
            return python
    return pytest.skip(f"{user.pw_name} can't reach a Python and this checkout")


@pytest.fixture
def open_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory that any user can reach and write, outside pytest's private ones."""
    made = subprocess.run(["mktemp", "-d", "/tmp/lastro-test-XXXXXX"], capture_output=True, text=True, check=True)
    place = Path(made.stdout.strip())
    place.chmod(0o1777)
    yield place
    subprocess.run(["rm", "-rf", str(place)], check=True)


@as_root
def test_roots_server_is_another_user_who_owns_the_data(home: Path) -> None:
    """Every process of the server and every file of the cluster belong to the unprivileged user."""
    nobody = pwd.getpwnam(privileges.USER_DEFAULT)
    with EmbeddedServer(home) as server:
        assert set(_status(server.pid, "Uid")) == {str(nobody.pw_uid)}
        assert set(_status(server.pid, "Gid")) == {str(nobody.pw_gid)}
        assert _status(server.pid, "Groups") == []
        assert _status(server.pid, "NoNewPrivs") == ["1"]
        owners = {path.lstat().st_uid for path in (home / "data").rglob("*")} | {(home / "data").stat().st_uid}
        assert owners == {nobody.pw_uid}
        assert (home / "server.json").stat().st_uid == 0


@as_root
def test_below_a_closed_directory_the_server_may_only_read_past_it(tmp_path: Path) -> None:
    """A checkout in /root, mode 0700: no directory above is opened up; one capability is lent, and no more."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    modes = {path: path.stat().st_mode for path in (closed, *closed.parents)}
    with EmbeddedServer(closed / "server") as server:
        kept = f"{1 << CAP_DAC_READ_SEARCH:016x}"
        for name in ("CapPrm", "CapEff", "CapAmb", "CapInh"):
            assert _status(server.pid, name) == [kept]
        with psycopg.connect(server.url) as connection:
            backend = connection.info.backend_pid
            assert _status(backend, "CapEff") == [kept]
            connection.execute("CREATE TABLE t AS SELECT 1")
    assert {path: path.stat().st_mode for path in modes} == modes
    with server:
        psycopg.connect(server.url).close()


@as_root
def test_where_every_directory_is_open_no_capability_is_lent(open_place: Path) -> None:
    """The least that is needed, which in an open place is nothing."""
    account = Account(name="nobody", uid=65534, gid=65534)
    assert with_reach(account, [(open_place, "enter")]).capability is None
    closed = open_place / "closed"
    closed.mkdir(mode=0o700)
    (closed / "file").touch(mode=0o600)
    (closed / "program").touch(mode=0o700)
    assert with_reach(account, [(closed / "file", "read")]).capability == privileges.CAP_DAC_READ_SEARCH
    assert with_reach(account, [(closed / "program", "execute")]).capability == privileges.CAP_DAC_OVERRIDE
    with pytest.raises(EmbeddedServerError, match=r"can't reach .*nothing.*mode 0700"):
        with_reach(account, [(closed / "nothing", "read")])


@as_root
def test_an_ordinary_user_runs_a_server_of_their_own(open_place: Path) -> None:
    """Without root nothing is dropped: the server is the caller."""
    for name in ("nobody", "daemon"):
        user = pwd.getpwnam(name)
        assert "served by" in _visit_as(user, open_place / name)
        assert (open_place / name / "data").stat().st_uid == user.pw_uid


@as_root
def test_a_users_cluster_is_served_to_root_as_that_user(open_place: Path) -> None:
    """The owner of existing data stays the owner, whoever starts the server."""
    user = pwd.getpwnam("daemon")
    assert "served by" in _visit_as(user, open_place / "server")
    with EmbeddedServer(open_place / "server") as server:
        assert _status(server.pid, "Uid")[0] == str(user.pw_uid)
    assert "served by" in _visit_as(user, open_place / "server")


@as_root
def test_root_doesnt_take_over_what_it_didnt_make(open_place: Path) -> None:
    """Files in a user's directory become the user's, except a second link to a root's file and symbolic links."""
    home = open_place / "server"
    home.mkdir()
    os.chown(home, 1, 1)
    (home / "made").touch()
    (open_place / "roots").touch()
    (home / "link").hardlink_to(open_place / "roots")
    (home / "symlink").symlink_to(open_place / "roots")
    leave_to_owner(home)
    assert (home / "made").stat().st_uid == 1
    assert (open_place / "roots").stat().st_uid == 0


@as_root
@pytest.mark.parametrize(
    ("dropped", "outcome"),
    [
        ("-dac_read_search", f"lent {privileges.CAP_DAC_OVERRIDE}"),
        ("-setuid,-setgid", "allow SETUID, SETGID and CHOWN"),
    ],
)
def test_a_container_with_fewer_capabilities(tmp_path: Path, dropped: str, outcome: str) -> None:
    """A root without the usual rights gets the next best, or an error that says which ones are missing."""
    script = (
        "import sys; from pathlib import Path; from lastro.embedded import privileges, EmbeddedServerError\n"
        "account = privileges.Account(name='nobody', uid=65534, gid=65534)\n"
        "try: print('lent', privileges.with_reach(account, [(Path(sys.argv[1]), 'read')]).capability)\n"
        "except EmbeddedServerError as error: print(error)\n"
    )
    (tmp_path / "file").touch(mode=0o600)
    argv = ["setpriv", f"--bounding-set={dropped}", sys.executable, "-c", script, str(tmp_path / "file")]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert outcome in done.stdout


@as_root
def test_another_users_directory_is_refused_with_its_owner(open_place: Path) -> None:
    """An ordinary user is told whose directory it is, whoever of the two made it, and as whom they came."""
    assert "served by" in _visit_as(pwd.getpwnam("daemon"), open_place / "server")
    told = _visit_as(pwd.getpwnam("nobody"), open_place / "server")
    assert "belongs to user daemon, and this process runs as user nobody" in told
    EmbeddedServer(open_place / "roots").start().stop()
    assert "belongs to user root" in _visit_as(pwd.getpwnam("daemon"), open_place / "roots")


@as_root
def test_root_as_the_servers_user_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither root by name nor an unknown user is accepted, and the variable is named."""
    for name in ("root", "no-such-user"):
        monkeypatch.setenv(privileges.USER_VARIABLE, name)
        with pytest.raises(EmbeddedServerError, match=privileges.USER_VARIABLE):
            EmbeddedServer(home).start()


@as_root
def test_another_user_may_be_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LASTRO_EMBEDDED_USER chooses who runs a new cluster."""
    monkeypatch.setenv(privileges.USER_VARIABLE, "daemon")
    with EmbeddedServer(home) as server:
        assert _status(server.pid, "Uid")[0] == str(pwd.getpwnam("daemon").pw_uid)


@as_root
def test_a_cluster_that_root_owns_is_refused_with_the_remedy(home: Path) -> None:
    """After a careless copy as root the data belong to root: the error is the chown to run."""
    EmbeddedServer(home).start().stop()
    os.chown(home / "data", 0, 0)
    with pytest.raises(EmbeddedServerError, match="chown -R nobody"):
        EmbeddedServer(home).start()


def test_a_user_without_a_name_is_told_what_initdb_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container that runs as a bare number gets the command that helps."""
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(EmbeddedServerError, match="useradd --uid 54321"):
        server_account(tmp_path / "nothing yet")


def test_data_of_another_user_are_not_served_to_an_ordinary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner is named before PostgreSQL would refuse."""
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(EmbeddedServerError, match=r"belongs to .* runs as uid 4711"):
        server_account(tmp_path)
