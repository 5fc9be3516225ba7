"""The health report on screen: gravest first, each with what to do, the items behind a click."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from eap_core.base.errors import escape_controls
from eap_core.health import Finding
from ui.text import SEVERITY_WORDS, escape_markdown

_ICONS = {
    "stop": ":material/block:",
    "warning": ":material/warning:",
    "note": ":material/info:",
}
_MOST_SHOWN = 200


def show_report(findings: Sequence[Finding]) -> None:
    """All findings, or that there are none."""
    if not findings:
        st.success("Nothing stands in the way of scoring.", icon=":material/check_circle:")
        return
    for severity, group in groupby(findings, key=lambda finding: finding.severity):
        st.markdown(f"**{SEVERITY_WORDS[severity]}**")
        for finding in group:
            show_finding(finding)


def show_finding(finding: Finding) -> None:
    """One finding with its advice."""
    draw = {"stop": st.error, "warning": st.warning, "note": st.info}[finding.severity]
    text = escape_markdown(finding.what[:1].upper() + finding.what[1:]) + "\\."
    if finding.todo:
        text += f"  \n{escape_markdown(finding.todo[:1].upper() + finding.todo[1:])}\\."
    draw(text, icon=_ICONS[finding.severity])
    if finding.where:
        with st.expander(f"Which ones ({len(finding.where):,})"):
            st.text("\n".join(escape_controls(name) for name in finding.where[:_MOST_SHOWN]))
            if len(finding.where) > _MOST_SHOWN:
                st.caption(f"and {len(finding.where) - _MOST_SHOWN:,} more")
