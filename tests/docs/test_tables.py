"""Tables and pictures in the documents that repeat the code say what the code says."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from types import ModuleType

import psycopg
import pytest

from lastro import Fault, LastroError, Ledger, config, errors
from lastro.imports import limits as import_limits
from lastro.matching import limits as matching_limits
from lastro.model import limits
from lastro.sql.catalogue import catalogue
from tests.docs.tables import code, marked, rows
from tests.house.checkout import PACKAGE, ROOT

ARCHITECTURE = ROOT / "ARCHITECTURE.md"
DJANGO = ROOT / "docs" / "django.md"
GUIDE = ROOT / "docs" / "guide.md"
LIMITS = ROOT / "docs" / "limits.md"
OPERATING = ROOT / "docs" / "operating.md"
REFERENCE = ROOT / "docs" / "reference-sql.md"
STORES = ROOT / "docs" / "stores.md"

LATER = "Not raised by this release."
ROOTS = {"LastroError", "Refusal", "Fault"}
SETTINGS = {
    "POOL_MAX": "lastro.engine.settings",
    "CONNECT_TIMEOUT_S": "lastro.engine.settings",
    "POOL_TIMEOUT_S": "lastro.engine.settings",
    "TRIES_MAX": "lastro.engine.retrying",
    "PAUSE_MAX_MS": "lastro.engine.retrying",
}
MIGRATIONS = PACKAGE / "schema" / "postgres"
POWERS = (40, 62, 63)


def _errors() -> dict[str, type[LastroError]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, LastroError) and name not in ROOTS
    }


def _raised_somewhere(name: str) -> bool:
    """Whether any module but the one that declares it, and the list of public names, speaks of it."""
    elsewhere = [path for path in PACKAGE.rglob("*.py") if path not in {PACKAGE / "errors.py", PACKAGE / "__init__.py"}]
    return any(re.search(rf"\b{name}\b", path.read_text("utf-8")) for path in elsewhere)


def test_the_table_of_errors() -> None:
    """The guide lists every error with its code, its kind and its meaning, and says which ones can't come yet."""
    told = rows(GUIDE, "errors")
    expected = [
        [f"`{error.code}`", f"`{name}`", "fault" if issubclass(error, Fault) else "refusal", _told(error)]
        for name, error in _errors().items()
    ]
    assert [row[:4] for row in told] == expected
    for row in told:
        (name,) = code(row[1])
        assert row[4], f"{name}: what is to be done?"
        assert (row[4] == LATER) != _raised_somewhere(name), f"{name}: is it raised or isn't it?"


def _told(error: type[LastroError]) -> str:
    return " ".join((inspect.getdoc(error) or "").split())


def _figure(value: float) -> str:
    for power in POWERS:
        named = {2**power: f"2^{power}", 2**power - 1: f"2^{power}−1", -(2**power): f"−2^{power}"}
        if value in named:
            return named[int(value)]
    return f"{value:,.0f}"


def test_the_table_of_limits() -> None:
    """Every limit of the model stands in the documents, in its order, with its figure and a meaning."""
    _says_all_of(limits, rows(LIMITS, "limits"))


def test_the_table_of_import_limits() -> None:
    """So does every limit of reading spreadsheets."""
    _says_all_of(import_limits, rows(LIMITS, "import limits"))


def test_the_table_of_matching_limits() -> None:
    """And every limit of matching."""
    _says_all_of(matching_limits, rows(LIMITS, "matching limits"))


def _says_all_of(module: ModuleType, told: list[list[str]]) -> None:
    declared = {name: value for name, value in vars(module).items() if name.isupper() and name != "MIB"}
    assert [row[:2] for row in told] == [[f"`{name}`", _figure(value)] for name, value in declared.items()]
    assert all(row[2] for row in told)


def test_the_table_of_what_a_store_cannot_do() -> None:
    """Each step that a dialect refuses stands there with its reason, and with calls of the ledger that exist."""
    told = rows(STORES, "refused")
    dialects = [folder.name for folder in (PACKAGE / "sql").iterdir() if (folder / "posting.sql").exists()]
    expected = {
        (dialect, statement.refused)
        for dialect in dialects
        for statement in catalogue(dialect).values()
        if statement.refused
    }
    assert {(row[0].lower(), row[2]) for row in told} == expected
    assert all(hasattr(Ledger, name) for row in told for name in code(row[1]))


def test_the_table_of_connections_and_retries() -> None:
    """What the engine bounds stands there with its figure."""
    told = rows(LIMITS, "settings")
    assert [row[:2] for row in told] == [
        [f"`{name}`", _figure(getattr(importlib.import_module(module), name))] for name, module in SETTINGS.items()
    ]


@pytest.mark.parametrize("view", ["balance", "entry", "movement", "hold_standing", "bet_standing", "import_standing"])
def test_the_columns_of_the_views(view: str, ledger: Ledger, connection: psycopg.Connection[tuple[str]]) -> None:
    """The reference lists exactly the columns that each view has, in their order."""
    assert ledger.partitions()
    told = [column for row in rows(REFERENCE, f"view {view}") for column in code(row[0])]
    columns = connection.execute(
        "SELECT column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND table_name = %s ORDER BY ordinal_position",
        (view,),
    )
    assert told == [column for (column,) in columns]


def _layers() -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["id"] == "layers"]
    return list(layers)


def test_the_picture_of_the_layers() -> None:
    """The picture shows the layers of the contract that CI checks, top down."""
    assert marked(ARCHITECTURE, "layers").strip().splitlines()[1:-1] == _layers()


def test_the_table_of_packages() -> None:
    """Every package and module of the first level is listed, top down, with the first sentence of its own docstring."""
    names = [name for layer in _layers() for name in re.findall(r"\w+", re.sub(r"\([^)]*\)", "", layer))]
    expected = [[f"`{name}`", _first_sentence(name)] for name in names if name != "__main__"]
    assert rows(ARCHITECTURE, "packages") == expected


def _first_sentence(name: str) -> str:
    path = PACKAGE / name / "__init__.py" if (PACKAGE / name).is_dir() else PACKAGE / f"{name}.py"
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return re.split(r"(?<=\.)\s", docstring)[0].replace("\n", " ")


def test_the_table_of_invariants() -> None:
    """Each invariant names constraints and triggers that the schema has, code and a test; no constraint is left out."""
    schema = "".join(path.read_text("utf-8") for path in sorted(MIGRATIONS.glob("[0-9]*.sql")))
    known = set(re.findall(r"(?:CONSTRAINT|CREATE TRIGGER) (\w+)", schema))
    named: set[str] = set()
    for invariant, constraint, assertion, test in rows(ARCHITECTURE, "invariants"):
        assert code(constraint) or constraint.startswith("("), f"{invariant}: what enforces it?"
        named.update(code(constraint))
        for place in (*code(assertion), *code(test)):
            path, _, name = place.partition("::")
            assert re.search(
                rf"^ *(?:async )?(?:def|class) {name}\b", (ROOT / path).read_text("utf-8"), re.MULTILINE
            ), place
        assert code(assertion)[0].startswith("src/")
        assert code(test)[0].startswith("tests/")
    assert named == known


def _commands() -> list[list[str]]:
    """Each command and group as the terminal lists it, with the first sentence of its help."""
    from lastro.cli.app import app

    helps = [(command.name, inspect.getdoc(command.callback)) for command in app.registered_commands]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        helps.append((group.name, str(group.typer_instance.info.help)))
    return [[f"`lastro {name}`", re.split(r"(?<=\.)\s", str(told))[0].replace("\n", " ")] for name, told in helps]


def test_the_table_of_commands() -> None:
    """Every command that there is stands in the operating guide, and none that isn't there."""
    assert rows(OPERATING, "commands") == _commands()


def test_the_variables_of_the_environment() -> None:
    """The guide names each variable that the package reads, and no other."""
    read = {value for name, value in vars(config).items() if name.endswith("_VARIABLE")}
    told = set(re.findall(r"`(LASTRO_[A-Z_]+)`", OPERATING.read_text("utf-8")))
    assert told == read


def test_measurements_are_the_ones_that_are_taken() -> None:
    """The operating guide names every measurement of the package, and none that isn't taken."""
    taken = {
        name
        for path in PACKAGE.rglob("*.py")
        for name in re.findall(r"measure\(\s*\"(lastro_\w+)\"", path.read_text("utf-8"))
    }
    told = set(re.findall(r"`(lastro_\w+)`", OPERATING.read_text("utf-8")))
    assert told == taken


def test_the_settings_of_django() -> None:
    """The page on Django says of each option of LASTRO what the module says, and what it is without it."""
    from lastro.django import configuration

    told = rows(DJANGO, "django settings")
    assert [code(option)[0] for option, _, _ in told] == list(configuration.OPTIONS)
    for option, means, without in told:
        assert f"| {option} | {means} | {without} |" in str(configuration.__doc__)
    values = [configuration.Configured()._asdict()[option.lower()] for option in configuration.OPTIONS]
    assert [without.strip("`").replace(",", "") for _, _, without in told] == [str(value) for value in values]


def test_the_checks_of_django() -> None:
    """The page on Django lists each number that `manage.py check` can give."""
    given = re.findall(r'"(lastro\.E\d+)"', (PACKAGE / "django" / "configuration.py").read_text("utf-8"))
    assert [code(check)[0] for check, _ in rows(DJANGO, "django checks")] == sorted(set(given))
