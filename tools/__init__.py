"""What makes the documentation, the demo and measurements; no part of the installed library."""
