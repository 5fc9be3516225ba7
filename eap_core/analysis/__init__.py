"""What is made of scores: tables, explanations, comparisons, duplicates, maps, learning curves."""
