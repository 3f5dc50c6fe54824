"""
The declaration of an adoption: which column of which table holds whose money, in which unit, and what becomes of it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from lastro.errors import InvalidInput
from lastro.model.account import Keeping, account_name, currency_code, floor_amount, keeping_word
from lastro.model.currencies import ACTIVE, EXPONENT_MAX, WITHDRAWN
from lastro.model.limits import ADOPTION_CHARACTERS_MAX, COLUMN_CHARACTERS_MAX
from lastro.model.text import shown, text

NAME = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
FILLED = re.compile(r"\{([^{}]*)\}")
ID_COLUMNS_MAX = 2
NO_FLOOR = "none"
NULLS = ("refuse", "zero")
Only: TypeAlias = tuple[str, str]


class OldColumn(NamedTuple):
    """
    A column that holds balances, and the accounts that are to take them over.

    `table` (with its `schema`, which MariaDB calls a database, where it isn't found without), `id` (one column, or two)
    and `balance` are names as they stand in the database, in its spelling. Each row's account is called by `account`,
    "customer:{id}", where a column's name in braces stands for its value; every column of `id` but the one of the
    currency has to appear. The currency is one for all rows (`currency`) or a column (`currency_column`).

    `decimals`: how many digits of the column stand behind the point of its unit: 0 where it counts minor units, 2 for a
    numeric(12,2) of euros. `floor`: of the accounts that are opened, in minor units, None for none. `nulls`: "refuse" a
    row without a balance, or take it for "zero". `only`: a column and the value that rows to adopt have in it, as the
    database writes it as text; `only_null`: a column that is NULL in them.
    """

    name: str
    table: str
    id: str | tuple[str, ...]
    balance: str
    account: str
    currency: str | None = None
    currency_column: str | None = None
    schema: str | None = None
    decimals: int = 0
    floor: int | None = 0
    keeping: Keeping = "direct"
    nulls: str = "refuse"
    only: Only | None = None
    only_null: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns of the id."""
        return (self.id,) if isinstance(self.id, str) else self.id

    def account_of(self, ids: tuple[str, ...]) -> str:
        """Return what the account of the row with these ids is called."""
        values = dict(zip(self.ids, ids, strict=True))
        return FILLED.sub(lambda found: values[found[1]], self.account)


def checked_column(column: object) -> OldColumn:
    """
    Return *column* if it declares something that can be adopted; InvalidInput says what is wrong with it.
    """
    if not isinstance(column, OldColumn):
        raise InvalidInput(f"an adoption is declared by an OldColumn; got {type(column).__name__}", argument="column")
    _check_name(column.name)
    ids = column.ids
    if not isinstance(ids, tuple) or not 1 <= len(ids) <= ID_COLUMNS_MAX or len(set(ids)) != len(ids):
        raise InvalidInput(f"id is a column, or a tuple of two; got {shown(column.id)}", argument="id")
    for argument, name in (("table", column.table), ("balance", column.balance), *(("id", name) for name in ids)):
        _identifier(name, argument)
    for argument, optional in (
        ("schema", column.schema),
        ("currency_column", column.currency_column),
        ("only_null", column.only_null),
    ):
        if optional is not None:
            _identifier(optional, argument)
    _check_currency(column)
    _check_account(column)
    _check_terms(column)
    return column._replace(keeping=keeping_word(column.keeping), floor=floor_amount(column.floor))


def adoption_name(name: object) -> str:
    """
    Return *name* if an adoption may be called so.
    """
    return _check_name(name)


def from_toml(source: str) -> OldColumn:
    """
    Return the declaration that stands in a TOML document under the names of OldColumn's fields; `floor = "none"` for no
    floor, `id = ["tenant_id", "user_id"]` for two columns, `only = {type = "customer"}` for a column and its value.
    """
    try:
        said = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"the declaration isn't TOML: {error}", argument="column") from None
    return checked_column(_from_mapping(said))


def to_json(column: OldColumn) -> str:
    """
    Return a declaration as it is stored; two are the same if these texts are.
    """
    return json.dumps(column._asdict(), sort_keys=True, separators=(",", ":"))


def from_json(stored: str) -> OldColumn:
    """
    Return the declaration that was stored.
    """
    said = json.loads(stored)
    said["id"] = tuple(said["id"]) if isinstance(said["id"], list) else said["id"]
    said["only"] = None if said["only"] is None else tuple(said["only"])
    return OldColumn(**said)


def _from_mapping(said: Mapping[str, Any]) -> OldColumn:
    unknown = [name for name in said if name not in OldColumn._fields]
    missing = [name for name in OldColumn._fields if name not in OldColumn._field_defaults and name not in said]
    if unknown or missing:
        raise InvalidInput(
            f"a declaration takes {', '.join(OldColumn._fields)}; missing: {', '.join(missing) or 'none'}; "
            f"unknown: {', '.join(unknown) or 'none'}",
            argument="column",
        )
    given = dict(said)
    if isinstance(given["id"], list):
        given["id"] = tuple(given["id"])
    if given.get("floor") == NO_FLOOR:
        given["floor"] = None
    if "only" in given:
        only = given["only"]
        if not isinstance(only, dict) or len(only) != 1:
            raise InvalidInput('only is one column and its value: only = {type = "customer"}', argument="only")
        given["only"] = next(iter(only.items()))
    return OldColumn(**given)


def _check_name(name: object) -> str:
    checked = text(name, argument="name", characters_max=ADOPTION_CHARACTERS_MAX)
    if not NAME.fullmatch(checked):
        raise InvalidInput(
            f"an adoption's name has a–z, 0–9, _ and -, a letter first; got {shown(name)}", argument="name"
        )
    return checked


def _identifier(name: object, argument: str) -> str:
    return text(name, argument=argument, characters_max=COLUMN_CHARACTERS_MAX)


def _check_currency(column: OldColumn) -> None:
    if (column.currency is None) == (column.currency_column is None):
        raise InvalidInput(
            "say once what the column's currency is: currency for all rows, or currency_column", argument="currency"
        )
    if not isinstance(column.decimals, int) or isinstance(column.decimals, bool):
        raise InvalidInput(f"decimals is a whole number; got {shown(column.decimals)}", argument="decimals")
    if not 0 <= column.decimals <= EXPONENT_MAX:
        raise InvalidInput(f"decimals is 0 … {EXPONENT_MAX}; got {column.decimals}", argument="decimals")
    if column.currency is not None:
        refuse_other_unit(column.decimals, currency_code(column.currency))


def refuse_other_unit(decimals: int, currency: str) -> None:
    """
    Raise where a column with *decimals* can't hold the minor units of *currency*.
    """
    exponent = ACTIVE.get(currency, WITHDRAWN.get(currency))
    if decimals and exponent is not None and decimals != exponent:
        raise InvalidInput(
            f"the minor unit of {currency} is its decimal {exponent} by ISO 4217, and decimals = {decimals} was declared: "
            f"its amounts would be read by a factor of {10 ** abs(exponent - decimals)} wrong. Declare decimals = "
            f"{exponent}, or 0 where the column counts minor units",
            argument="decimals",
        )


def _check_account(column: OldColumn) -> None:
    pattern = account_name(column.account)
    filled = FILLED.findall(pattern)
    needed = [name for name in column.ids if name != column.currency_column]
    if not set(needed) <= set(filled) <= set(column.ids):
        wanted = " and ".join(f"{{{name}}}" for name in needed)
        raise InvalidInput(
            f"account names the account of a row by its id: it needs {wanted}, and takes nothing but columns of the id; "
            f"got {shown(pattern)}",
            argument="account",
        )


def _check_terms(column: OldColumn) -> None:
    if column.keeping == "summed":
        raise InvalidInput("keeping is direct or hot for the accounts of an adoption", argument="keeping")
    if column.nulls not in NULLS:
        raise InvalidInput(f"nulls is one of {', '.join(NULLS)}; got {shown(column.nulls)}", argument="nulls")
    if column.only is not None:
        if not isinstance(column.only, tuple) or [type(part) for part in column.only] != [str, str]:
            raise InvalidInput("only is a pair of texts: a column and its value", argument="only")
        _identifier(column.only[0], "only")
