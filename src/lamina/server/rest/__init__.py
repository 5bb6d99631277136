"""The REST interface: routes, bodies, cursors."""
