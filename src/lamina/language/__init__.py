"""Reading text: sentences, words, languages, dates."""
