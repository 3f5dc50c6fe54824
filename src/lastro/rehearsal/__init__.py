"""
Lastro under a real application: a marketplace's checkouts and seasons of bets, replayed for proof (`demo`), and checkouts as load.
"""
