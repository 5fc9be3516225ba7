"""Everything that was loaded, computed or decided, on disk before anybody is told it is saved.

Rows live in SQL (SQLite in the home folder, or PostgreSQL by URL), files beside them by the hash of
their content. Each module here is one kind of row; none keeps state of its own.
"""
