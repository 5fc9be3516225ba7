"""What a person should know about the data before trusting a score, and after."""
