"""
The statements, in files: one folder a dialect, one file a plan, one name an effect.
"""
