"""The import contract fails when an import points up: shown on a copy of the package with one line added."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.checkout import PACKAGE, ROOT

pytestmark = pytest.mark.house

CONTRACT_TIMEOUT_S = 60
LAYERS = "Imports point down"
DRIVERS = "Only the engine imports a database driver"
DJANGO = "Only lastro.django and the engine's handle import Django"
CYCLES = "No module imports itself by a detour"


def _contract(folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the import contract of `folder/pyproject.toml` on the package below `folder/src`."""
    tool = Path(sys.executable).parent / "lint-imports"
    return subprocess.run(
        [str(tool), "--no-logo", "--no-cache"],
        cwd=folder,
        # Found before the checkout's own package, which an editable install puts at the end of the path.
        env={"PYTHONPATH": str(folder / "src"), "PATH": str(tool.parent), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=CONTRACT_TIMEOUT_S,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package and of the contract."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(PACKAGE, tmp_path / "src" / "lastro", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_package_keeps_the_contract(copy: Path) -> None:
    """The package as it stands keeps every contract."""
    kept = _contract(copy)
    assert kept.returncode == 0, kept.stdout
    for contract in (LAYERS, DRIVERS, DJANGO, CYCLES):
        assert f"{contract} KEPT" in kept.stdout


@pytest.mark.parametrize(
    ("package", "line", "contract"),
    [
        ("model", "import lastro.engine", LAYERS),
        ("schema", "import lastro.workers", LAYERS),
        ("plans", "import lastro.sql", LAYERS),
        ("plans", "import psycopg", DRIVERS),
        ("workers", "from sqlalchemy import text", DRIVERS),
        ("workers", "import django", DRIVERS),
        ("engine", "import django", DJANGO),
        ("workers", "import lastro.django", LAYERS),
    ],
)
def test_an_import_that_points_up_breaks_the_contract(copy: Path, package: str, line: str, contract: str) -> None:
    """One import upward, sideways or of a driver breaks the contract that forbids it."""
    with (copy / "src" / "lastro" / package / "__init__.py").open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    broken = _contract(copy)
    assert broken.returncode != 0
    assert f"{contract} BROKEN" in broken.stdout, broken.stdout


def test_a_cycle_breaks_the_contract(copy: Path) -> None:
    """Two modules of one package that import each other break the contract."""
    model = copy / "src" / "lastro" / "model"
    (model / "here.py").write_text("import lastro.model.there\n", "utf-8")
    (model / "there.py").write_text("import lastro.model.here\n", "utf-8")
    broken = _contract(copy)
    assert f"{CYCLES} BROKEN" in broken.stdout, broken.stdout


def test_a_package_without_a_layer_breaks_the_contract(copy: Path) -> None:
    """A new package must be given its place before it passes."""
    (copy / "src" / "lastro" / "everything.py").write_text('"""A module nobody placed."""\n', "utf-8")
    broken = _contract(copy)
    assert broken.returncode != 0
    assert "everything" in broken.stdout, broken.stdout
