"""From a problem to its posterior: distances, detectors, rarity, evidence."""
