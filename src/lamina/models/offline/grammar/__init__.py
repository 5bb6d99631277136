"""What people say of themselves, as data: one file for each language, and the engine that reads them."""
