"""
The ledger's tables: numbered migrations a dialect, up only, and the plan that applies them.
"""
