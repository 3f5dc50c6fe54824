"""
The sportsbook on top of the ledger: markets, bets placed in one short transaction, results settled by a queue.
"""
