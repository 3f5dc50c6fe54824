"""
The background work: ticks that fold the tail in and keep partitions, one loop that repeats them, threads that run it.
"""
