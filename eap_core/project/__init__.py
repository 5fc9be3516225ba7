"""What can be done with a project in the store: fill it, look at its health, score it."""
