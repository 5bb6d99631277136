"""Many memories of one store in one process: tenants, keys, the worker pool, changes."""
