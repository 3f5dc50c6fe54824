"""
Part three of the demo: what a payment provider would send about part one, merged by two at once, and matched.
"""
