"""Episodes without a language model: phrases that tell of moments that mattered."""
