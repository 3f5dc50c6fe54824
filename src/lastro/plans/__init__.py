"""
What each operation does, written once: generators that yield named steps and receive rows.
"""
