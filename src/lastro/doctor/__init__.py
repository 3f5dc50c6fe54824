"""
The doctor: readings of a database under load, and findings that name the mechanism that holds the latency.
"""
