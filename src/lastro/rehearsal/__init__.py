"""
Lastro under real applications: checkouts and seasons of bets, replayed for proof (`demo`); load against criteria set before (`rehearse`).
"""
