"""The weights of all-MiniLM-L6-v2 in 8 bits: a file of data for Lamina, which reads it by itself."""
