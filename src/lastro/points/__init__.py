"""
Points: rules by which activity earns them, caps, lots that expire, and what members do with them.
"""
