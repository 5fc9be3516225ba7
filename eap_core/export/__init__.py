"""From decisions to files: the curated set as a table or an image tree, with its papers."""
