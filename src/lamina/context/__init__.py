"""What a model should see for the next message: budget, passages, layout, manifest."""
