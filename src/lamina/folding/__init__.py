"""Folding: when it is due, what it covers, what is accepted, how it is made and made again."""
