"""Documents that are kept under names."""
