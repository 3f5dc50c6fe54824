"""
`python -m lastro`: the same as the `lastro` command.
"""

from lastro.cli.main import main

main()
