"""
The pgbench script of a placement: the catalogue's own statements, in the order and the transactions of the plan.
"""

from __future__ import annotations

from bench.pgbench import Script, script_of
from bench.scripts import DRAWN, KEY
from lastro.model.limits import BALANCE_MAX, BET_RETURN_MAX, EXPOSURE_SLICES, LOCK_TIMEOUT_MS
from lastro.sql.catalogue import catalogue

SELECTION = "home"
STAKE_MAX = 100
# A colon before letters in a text would be taken for a variable of pgbench's.
COLON = "chr(58)"
ACCOUNT = "('spread:' || :account_id::text)"
MARKET = f"(:market_prefix::text || {COLON} || :market_number::text)"
BET = "('bet:' || :bet_id::text)"
ASKED = (
    f"""('{{"account":"' || {ACCOUNT} || '","currency":"BRL","legs":[["' || {MARKET} || '","{SELECTION}","2.05"]],"stake":'"""
    """ || :amount::text || ',"tolerance":"0"}')"""
)
PAYLOAD = (
    f"""('{{"event":"placed","bet":"' || {KEY} || '","id":"' || :bet_id::text || '","account":"' || {ACCOUNT} ||"""
    f""" '","currency":"BRL","stake":"' || :amount::text || '","potential_return":"' || :potential_return::text ||"""
    f""" '","legs":[{{"market":"' || {MARKET} || '","selection":"{SELECTION}","odds":"2.05"}}],"placed_at":"' ||"""
    """ :looked_at::text || '"}')"""
)


def place_bet(ledger: str, *, prefix: str, markets: int, accounts: int) -> Script:
    """A single bet of an account 1 … *accounts* on one of the markets *prefix*:1 … *markets*, drawn anew each time."""
    drawn = (
        f"{DRAWN.rstrip()}\n\\set account_id random(1, {accounts})\n\\set market_number random(1, {markets})\n"
        f"\\set slice random(0, {EXPOSURE_SLICES - 1})\n\\set amount random(1, {STAKE_MAX})\n"
    )
    look = {
        "key": KEY, "account": ACCOUNT, "markets": f"ARRAY[{MARKET}]", "selections": f"ARRAY['{SELECTION}']",
        "now": "NULL",
    }  # fmt: skip
    record = {
        "key": KEY, "asked": ASKED, "placed_at": ":looked_at", "account_id": ":account_id", "stake": ":amount",
        "potential_return": ":potential_return", "return_max": ":return_max", "settle_by": ":due_at",
        "actor": "NULL", "metadata": "NULL", "market_ids": "ARRAY[:market_id::bigint]",
        "selection_ids": "ARRAY[:selection_id::bigint]", "odds": "ARRAY[:odds::integer]",
        "slices": "ARRAY[:slice::integer]", "lock_timeout": ":lock_timeout",
    }  # fmt: skip
    emit = {
        "event_ids": f"ARRAY['bet:' || {KEY} || {COLON} || 'placed']", "topics": "ARRAY['bets']",
        "ordering_keys": f"ARRAY[{BET}]", "payloads": f"ARRAY[{PAYLOAD}]", "now": "NULL",
    }  # fmt: skip
    hold = {
        "key": f"('bet:' || {KEY})", "account_id": ":account_id", "amount": ":amount", "owner": ":owner",
        "expires_at": ":due_at", "group_name": "NULL", "capture_max": "NULL", "listed": "true", "cause": BET,
        "source": "NULL", "actor": "NULL", "metadata": "NULL", "now": "NULL", "lock_timeout": ":lock_timeout",
        "balance_max": ":balance_max",
    }  # fmt: skip
    variables = {
        "market_prefix": prefix, "return_max": BET_RETURN_MAX, "due_at": "2100-01-01T00:00:00Z",
        "lock_timeout": f"{LOCK_TIMEOUT_MS}ms", "owner": "betting", "balance_max": BALANCE_MAX,
    }  # fmt: skip
    statements = catalogue("postgres", ledger)

    def said(name: str, values: dict[str, str], *, passed_on: bool = False) -> str:
        text = script_of(statements[name].text, values).text
        return text.rstrip().removesuffix(";") + " \\gset\n" if passed_on else text

    text = (
        drawn.lstrip()
        + said("betting_placing.look", look, passed_on=True)
        + "\\set potential_return :amount * :odds / 1000\nBEGIN;\n"
        + said("betting_placing.record", record, passed_on=True)
        + said("outbox.emit", emit)
        + said("placing.place_direct", hold)
        + "END;\n"
    )
    return Script(text=text, variables={name: str(value) for name, value in variables.items()})
