"""The paper's experiment: splits, scores, learning curves, ranks."""
