"""Which pair of prompts tells anomalies best, chosen with the help of selected candidates."""
