"""Bundles that are there: listed, downloaded, deleted."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from eap_core.export.bundle import Bundle, bundles_of, delete
from eap_core.export.request import FORMATS
from ui import downloads, frame
from ui.subject import Subject


def listed(found: Subject) -> None:
    """Every bundle of the project; the latest is chosen."""
    made = bundles_of(found.store, found.project.id)
    if not made:
        return
    st.subheader("Bundles", anchor=False)
    chosen = made[0] if len(made) == 1 else _chosen(made)
    if chosen is None:
        st.info("Choose a bundle in the table to download or delete it.")
        return
    _one(found, chosen)


def _chosen(made: Sequence[Bundle]) -> Bundle | None:
    table = pd.DataFrame(
        {
            "made": [frame.clock(each.created) for each in made],
            "form": [FORMATS[each.manifest["format"]] for each in made],
            "accepted": [each.counts["accepted"] for each in made],
            "candidates": [each.counts["candidates"] for each in made],
            "size": [size(each.size) for each in made],
            "sha256": [each.sha256 for each in made],
        }
    )
    picked = st.dataframe(
        table,
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [0]}},
        column_config={
            "made": "Made",
            "form": "Form",
            "accepted": "Accepted",
            "candidates": "Candidates",
            "size": "Size",
            "sha256": "SHA-256",
        },
        # The latest is chosen again when another one comes or goes.
        key=f"export.bundles.{made[0].name}.{len(made)}",
        alt="Bundles of this project, latest first",
    )
    rows = picked["selection"]["rows"]
    return made[rows[0]] if rows else None


def _one(found: Subject, chosen: Bundle) -> None:
    counts = chosen.counts
    rule = chosen.manifest["selection"]["rule"]
    best = f", the best {rule['accept_best_percent']:g} % by score" if rule else ""
    st.markdown(
        f"**{FORMATS[chosen.manifest['format']]}**, made {frame.clock(chosen.created)}: "
        f"{counts['accepted']:,} of {counts['candidates']:,} candidates accepted{best}"
    )
    st.caption(f"SHA-256 {chosen.sha256}")
    with st.container(horizontal=True, gap="small"):
        downloads.link(
            f"Download everything (ZIP, {size(chosen.size)})",
            downloads.bundle_address(found.project.id, chosen.name),
            "export.zip",
            primary=True,
        )
        downloads.link(
            "Download the table alone",
            downloads.offered("table", chosen.read_table, f"{chosen.path.stem}-{chosen.table}"),
            "export.table",
        )
        with st.popover("Delete", icon=":material/delete:"):
            st.markdown("Only this bundle goes; candidates and decisions stay.")
            if st.button("Delete this bundle", key="export.delete", type="primary"):
                delete(found.store, found.project.id, chosen.name)
                st.rerun()


def size(count: int) -> str:
    """Bytes as a person says them."""
    for unit, amount in (("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if count >= amount:
            return f"{count / amount:.1f} {unit}"
    return f"{count} bytes"
