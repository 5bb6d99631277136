"""The worker: takes what is due and does it, under leases."""
