"""
Where plans meet databases: the only importer of drivers, and the owner of transactions, retries and error classes.
"""
