"""Speed and memory, each as a ratio against a stated reference in the same run."""
