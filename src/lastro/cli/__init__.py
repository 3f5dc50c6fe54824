"""
The terminal: one command a verb, tables for people and JSON for machines. Needs the extra `cli`.
"""
