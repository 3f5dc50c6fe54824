"""Many threads, one commit: a batcher posts for 32 threads to one account kept direct, each with its own outcome."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor

import lastro
from lastro.embedded import EmbeddedServer

THREADS = 32
PAYMENTS = 500
FUNDS = 40_000
PRICE = 100


def main() -> None:
    """Let the threads spend more than there is, and count what was refused."""
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedServer(f"{folder}/server") as server,
        lastro.connect(server.url) as ledger,
    ):
        ledger.migrate()
        ledger.open_account("wallet", "POINTS")
        ledger.post(key="grant", kind="grant", debit="world", credit="wallet", amount=FUNDS, currency="POINTS")

        with ledger.batching() as batcher, ThreadPoolExecutor(THREADS) as threads:

            def pay(number: int) -> bool:
                try:
                    batcher.post(
                        key=f"spend:{number}", kind="spend", debit="wallet", credit="world",
                        amount=PRICE, currency="POINTS",
                    )  # fmt: skip
                except lastro.InsufficientFunds:
                    return False
                return True

            paid = sum(threads.map(pay, range(PAYMENTS)))

        print("paid:", paid, "refused:", PAYMENTS - paid)
        print("left:", ledger.balance("wallet", "POINTS").posted)
        last = ledger.entries("wallet", "POINTS", limit=1_000)[-1]
        print("last entry:", last.balance_before, "→", last.balance_after)


if __name__ == "__main__":
    main()
