"""Recall measured on files of conversations with questions; loaded by `lamina bench` only."""
