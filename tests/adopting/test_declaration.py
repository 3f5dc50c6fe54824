"""A declaration says what is to be adopted, or is told what is wrong with it; no database is asked."""

from __future__ import annotations

from typing import Any

import pytest

from lastro import InvalidInput, OldColumn
from lastro.adopting.declaration import checked_column, from_json, from_toml, to_json

pytestmark = pytest.mark.case("C001")

USERS: dict[str, Any] = {
    "name": "users", "table": "users", "id": "id", "balance": "balance", "account": "customer:{id}", "currency": "EUR",
}  # fmt: skip


def test_a_declaration_from_toml() -> None:
    """All of it can be written in TOML, and is stored and read back as it was."""
    found = from_toml(
        """
        name = "wallets"
        schema = "billing"
        table = "wallets"
        id = ["user_id", "currency"]
        balance = "balance"
        currency_column = "currency"
        account = "customer:{user_id}"
        decimals = 2
        floor = "none"
        keeping = "hot"
        nulls = "zero"
        only = {type = "customer"}
        only_null = "deleted_at"
        """
    )
    assert (found.ids, found.floor, found.only) == (("user_id", "currency"), None, ("type", "customer"))
    assert found.account_of(("42", "EUR")) == "customer:42"
    assert from_json(to_json(found)) == found
    assert checked_column(OldColumn(**USERS)).account_of(("a}{b",)) == "customer:a}{b"


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"name": "Users"}, "name"),
        ({"name": "u" * 33}, "name"),
        ({"name": "9"}, "name"),
        ({"table": ""}, "table"),
        ({"table": "t" * 65}, "table"),
        ({"balance": "a\0b"}, "balance"),
        ({"id": ()}, "id"),
        ({"id": ("a", "a")}, "id"),
        ({"id": ("a", "b", "c")}, "id"),
        ({"id": 5}, "id"),
        ({"currency": None}, "currency"),
        ({"currency_column": "currency"}, "currency"),
        ({"currency": "eur"}, "currency"),
        ({"account": "customer"}, "account"),
        ({"account": "customer:{name}"}, "account"),
        ({"account": "customer:{id}:{email}"}, "account"),
        ({"decimals": 3}, "decimals"),
        ({"decimals": -1}, "decimals"),
        ({"decimals": 19, "currency": "POINTS"}, "decimals"),
        ({"decimals": 2.0}, "decimals"),
        ({"decimals": 2, "currency": "JPY"}, "decimals"),
        ({"floor": 0.0}, "floor"),
        ({"keeping": "summed"}, "keeping"),
        ({"keeping": "warm"}, "keeping"),
        ({"nulls": "skip"}, "nulls"),
        ({"only": "type"}, "only"),
        ({"only": ("type", 5)}, "only"),
    ],
    ids=str,
)
def test_what_cant_be_declared(changed: dict[str, Any], argument: str) -> None:
    """Each mistake is refused before anything is read, and the argument is named."""
    with pytest.raises(InvalidInput) as refused:
        checked_column(OldColumn(**(USERS | changed)))
    assert refused.value.details.get("argument", argument) == argument
    assert argument in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "name = ",
        'name = "users"',
        "\n".join(f'{name} = "{value}"' for name, value in USERS.items()) + '\nwhere = "1 = 1; DROP TABLE users"',
        "\n".join(f'{name} = "{value}"' for name, value in USERS.items()) + "\nonly = {a = 'b', c = 'd'}",
    ],
)
def test_what_isnt_a_declaration(text: str) -> None:
    """A document that isn't one is refused, also where it says more than a declaration can."""
    with pytest.raises(InvalidInput):
        from_toml(text)


def test_only_a_declaration_is_one() -> None:
    """A mapping isn't taken for one."""
    with pytest.raises(InvalidInput, match="OldColumn"):
        checked_column(USERS)


@pytest.mark.case("C030")
def test_a_wrong_unit_says_by_which_factor() -> None:
    """Decimals that aren't the currency's would change every amount: the refusal says by how much."""
    with pytest.raises(InvalidInput, match="factor of 100 wrong"):
        checked_column(OldColumn(**(USERS | {"currency": "JPY", "decimals": 2})))
