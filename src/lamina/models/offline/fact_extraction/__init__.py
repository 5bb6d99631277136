"""Facts without a language model: one grammar file for each language, and the code that reads sentences with it."""
