"""The inspector: a page that shows a memory, and the files it is made of."""
