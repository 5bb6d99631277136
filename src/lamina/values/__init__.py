"""The values that travel through Lamina: frozen, without stores, equal by content."""
