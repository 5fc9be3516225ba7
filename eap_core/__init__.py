"""Expected Anomaly Posterior: score, compare and curate synthetic anomalies."""

__version__ = "0.1.0"
