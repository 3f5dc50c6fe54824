"""
What a ledger is: values and rules, without I/O, clock or SQL.
"""
