"""How well each thing that a user's memory holds answers a question: arrays in, scores with their parts out."""
