"""
Lastro under a real application: a marketplace's checkouts, replayed for proof (`demo`) or as load (`checkout`).
"""
