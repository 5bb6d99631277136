"""Faces of the engine: settings, logs and the command line."""
