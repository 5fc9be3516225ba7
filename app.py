"""Entry point: the frame and the list of steps, nothing else."""

from pathlib import Path

import streamlit as st

from ui import session

ICON = Path(__file__).parent / "assets" / "icon.png"  # a named icon would be fetched from outside
st.set_page_config(page_title="EAP Curator", page_icon=str(ICON), layout="wide")
session.start()
st.navigation(
    [
        st.Page("pages/data.py", title="Data", icon=":material/database:", default=True),
        st.Page("pages/score.py", title="Score", icon=":material/speed:"),
    ],
    position="top",
).run()
