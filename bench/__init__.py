"""
Measurements against this machine's own limit: `python -m bench`, or `make bench`.
"""
