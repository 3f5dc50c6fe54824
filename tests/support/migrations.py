"""The migrations that a new ledger of a store with everything in it gets, in their order: said once for all tests."""

MIGRATIONS = [
    "0001_core",
    "0002_points",
    "0003_holds",
    "0004_kinds",
    "0005_closings",
    "0006_reconciliation",
    "0007_adoption",
    "0009_outbox",
    "0010_betting",
    "0011_imports",
    "0012_matching",
]
