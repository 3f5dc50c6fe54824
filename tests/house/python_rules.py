"""The house rules for Python modules: each takes a parsed module and returns what is wrong with it, in words."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.house.checkout import PACKAGE

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50

# Functions that may be longer, as "path::name" -> the reason. Empty, and best kept so.
LONG_FUNCTIONS: dict[str, str] = {}

FORBIDDEN_NAMES = frozenset({"base", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"})
FORBIDDEN_CLASS_NAME = re.compile(r"^(Base|Abstract)[A-Z]|(Manager|Helper|Utils?)$")

# Where amounts are computed: integers of minor units, so no float and no true division.
EXACT = ("model/", "plans/")
# What the model may take from the standard library: values and rules, no I/O, no clock, no randomness, no threads.
PURE = frozenset(
    {
        "__future__", "abc", "collections", "contextlib", "dataclasses", "datetime", "decimal", "enum", "fractions",
        "functools", "hashlib", "heapq", "itertools", "json", "math", "operator", "re", "string", "types", "typing",
        "unicodedata", "uuid",
        # The calendar's rules: of the machine they read its database of time zones, and no clock.
        "calendar", "zoneinfo",
    }
)  # fmt: skip
# Code that plays the caller, or speaks to people: it may hold a driver's connection, a clock and SQL of its own.
OUTSIDE = ("cli/", "rehearsal/", "testing/", "testing.py")
CLOCKS = frozenset({"now", "utcnow", "today"})
SQL_TEXT = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|MERGE INTO|COPY|CREATE TABLE|ALTER TABLE)\s")
ENDS_A_TRANSACTION = frozenset({"commit", "rollback"})


@dataclass(frozen=True)
class Module:
    """One module of the package: its path below `src/lastro`, its text and its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @classmethod
    def parse(cls, path: str, text: str) -> Module:
        """Reads a module from its text."""
        return cls(path, text, ast.parse(text))

    @property
    def outside(self) -> bool:
        """Whether the module plays the caller or speaks to people."""
        return self.path.startswith(OUTSIDE)


def modules(package: Path) -> list[Module]:
    """Every module below the package's folder."""
    return [
        Module.parse(path.relative_to(package).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(package.rglob("*.py"))
    ]


def says_its_job(module: Module) -> Iterator[str]:
    """A module opens with a sentence that says its one job."""
    doc = (ast.get_docstring(module.tree) or "").strip()
    first = doc.split("\n\n")[0]
    if not doc:
        yield f"{module.path}: no docstring; its first sentence says the module's one job"
    elif not re.search(r"[.:!?]($|\s)", first):
        yield f"{module.path}: the docstring's first paragraph is no sentence: {first!r}"


def is_short(module: Module) -> Iterator[str]:
    """A module has at most 400 lines, a function at most 50."""
    lines = len(module.text.splitlines())
    if lines > MODULE_LINES_MAX:
        yield f"{module.path}: {lines} lines, at most {MODULE_LINES_MAX}; split it by job"
    for function in _functions(module.tree):
        length = (function.end_lineno or function.lineno) - function.lineno + 1
        if length > FUNCTION_LINES_MAX and f"{module.path}::{function.name}" not in LONG_FUNCTIONS:
            yield f"{module.path}:{function.lineno} {function.name}: {length} lines, at most {FUNCTION_LINES_MAX}"


def is_named_for_the_domain(module: Module) -> Iterator[str]:
    """No module and no class is called utils, helpers, manager, base or common."""
    parts = {part.removesuffix(".py").strip("_") for part in PurePosixPath(module.path).parts}
    for part in sorted(parts & FORBIDDEN_NAMES):
        yield f"{module.path}: {part!r} says nothing about the domain; name the job"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef) and FORBIDDEN_CLASS_NAME.search(node.name):
            yield f"{module.path}:{node.lineno} class {node.name}: name what it is in the domain"


def counts_in_integers(module: Module) -> Iterator[str]:
    """Where amounts are computed there is no float: no float(), no float literal, no true division."""
    if not module.path.startswith(EXACT):
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and _name(node.func) == "float":
            yield f"{module.path}:{node.lineno} float(): amounts are integers of minor units"
        elif isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield f"{module.path}:{node.lineno} {node.value}: a float literal among amounts"
        elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            yield f"{module.path}:{node.lineno} a true division makes a float; use // or divmod"


def is_pure(module: Module) -> Iterator[str]:
    """The model and the plans import values and rules only: no I/O, no clock, no driver."""
    if not module.path.startswith(EXACT):
        return
    for name, line in _imports(module.tree):
        top = name.split(".")[0]
        if top != "lastro" and top not in PURE:
            yield f"{module.path}:{line} imports {name}: {module.path.split('/')[0]} has no I/O, clock or driver"


def never_ends_a_transaction(module: Module) -> Iterator[str]:
    """Nothing in model or plans commits or rolls back: the transaction belongs to the caller."""
    if not module.path.startswith(EXACT):
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and node.attr in ENDS_A_TRANSACTION:
            yield f"{module.path}:{node.lineno} .{node.attr}: the transaction belongs to the caller"


def takes_time_from_the_database(module: Module) -> Iterator[str]:
    """Inside the library the wall clock is the database's."""
    if module.outside:
        return
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = _name(node.func.value)
        if (node.func.attr in CLOCKS and owner in {"datetime", "date"}) or (owner, node.func.attr) == ("time", "time"):
            yield f"{module.path}:{node.lineno} {owner}.{node.func.attr}(): time comes from the database"


def names_its_limits(module: Module) -> Iterator[str]:
    """No bare number bounds a loop or a wait: a limit has a name, with its unit last."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else _name(node.func)
        given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg in {"timeout", "maxsize"})]
        literal = [value for value in given if _is_number(value)]
        if called in {"range", "sleep", "wait", "join", "Queue", "deque"} and literal:
            yield f"{module.path}:{node.lineno} {called}(…{ast.unparse(literal[0])}…): give the limit a name"


def keeps_sql_in_files(module: Module) -> Iterator[str]:
    """SQL lives in `.sql` files under a header, not in strings."""
    if module.outside:
        return
    docs = {id(doc) for doc in _docstrings(module.tree)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            found = SQL_TEXT.match(node.value)
            if found:
                yield f"{module.path}:{node.lineno} a string with {found[1]}: SQL lives in .sql files"


def never_imports_the_front_door(module: Module) -> Iterator[str]:
    """What `lastro/__init__.py` is made of doesn't import `lastro` itself: that would be an import upward."""
    if module.outside or module.path == "__init__.py":
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import) and any(alias.name == "lastro" for alias in node.names):
            yield f"{module.path}:{node.lineno} import lastro: import the module that has it"
        elif isinstance(node, ast.ImportFrom) and node.module == "lastro":
            for alias in node.names:
                if not any((PACKAGE / f"{alias.name}{end}").exists() for end in ("", ".py")):
                    yield f"{module.path}:{node.lineno} from lastro import {alias.name}: import it from its module"


RULES: tuple[Callable[[Module], Iterator[str]], ...] = (
    says_its_job,
    is_short,
    is_named_for_the_domain,
    counts_in_integers,
    is_pure,
    never_ends_a_transaction,
    takes_time_from_the_database,
    names_its_limits,
    keeps_sql_in_files,
    never_imports_the_front_door,
)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.lineno


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def _name(node: ast.expr) -> str:
    """The last word of a dotted name: `datetime` for `datetime.datetime`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_number(node: ast.expr) -> bool:
    """A literal number other than 0 and 1, which say "none" and "one" and limit nothing."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value not in (0, 1)
