"""What everything rests on: errors, progress, tables, problems, files."""
