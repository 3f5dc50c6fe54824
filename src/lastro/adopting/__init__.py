"""
Adopting: taking over, step by step and with a way back, balances that an application keeps in a column of its own.
"""
