"""Placeholder of the step, until its page is here."""

from ui import frame, session
from ui.subject import subject

session.current()
with frame.errors_said():
    found = subject()
    if found is not None:
        found.status()
