"""`python -m lamina`: the command line, where the command itself is not on the path."""

from lamina.cli.entry import main

main()
