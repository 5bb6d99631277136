"""`python -m lamina`: the command line, where the command itself is not on the path."""

from lamina.interfaces.entry import main

main()
