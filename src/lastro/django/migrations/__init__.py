"""
The app's migrations, as Django counts them: each brings the models up to date and the ledgers with them.
"""
