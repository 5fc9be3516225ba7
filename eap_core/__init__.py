"""Expected Anomaly Posterior: score, compare and curate synthetic anomalies."""
