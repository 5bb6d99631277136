"""The seams of Lamina: what is asked of stores and of models."""
