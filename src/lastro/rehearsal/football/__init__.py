"""
Part two of the demo: seasons of football, a market a match, bet on by several processes and settled by several settlers.
"""
