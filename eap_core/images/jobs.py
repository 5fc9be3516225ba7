"""Which gathered files are read as what: the chosen role goes before that of the layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eap_core.images.layout import Layout, Place
from eap_core.images.members import Gathered, Member, Skipped
from eap_core.roles import ROLES, Role


@dataclass(frozen=True)
class Job:
    """One image to read, with its mask."""

    member: Member
    role: Role
    metadata: Mapping[str, str]
    mask: Member | None


def jobs_of(
    gathered: Gathered, layout: Layout, role: Role | None
) -> tuple[list[Job], list[Skipped]]:
    """The images to read, and those of which nobody says what they are."""
    by_name = {member.name: member for member in gathered.members}
    jobs, roleless = [], []
    reason = f"lies where nothing says what it is — choose one of {', '.join(ROLES)}"
    for member in gathered.members:
        place = layout.places.get(member.name, Place())
        chosen = role or place.role
        if place.mask:
            continue
        if chosen is None:
            roleless.append(Skipped(member.name, reason))
        else:
            mask = by_name.get(layout.masks.get(member.name, ""))
            jobs.append(Job(member, chosen, place.metadata, mask))
    return jobs, roleless


def overruled(jobs: Sequence[Job], layout: Layout) -> Iterator[str]:
    """Says where folders or tables name another role than the one that was chosen."""
    said = Counter(
        (place.role, job.role)
        for job in jobs
        if (place := layout.places.get(job.member.name)) and place.role not in (None, job.role)
    )
    for (named, chosen), count in said.items():
        yield f"{count:,} images that are called {named} are taken as {chosen}, as chosen"
