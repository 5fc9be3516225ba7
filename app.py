"""Entry point: the frame and the list of steps, nothing else."""

import streamlit as st

from ui import session

st.set_page_config(page_title="EAP Curator", page_icon=":material/verified:", layout="wide")
session.start()
st.navigation(
    [
        st.Page("pages/data.py", title="Data", icon=":material/database:", default=True),
        st.Page("pages/score.py", title="Score", icon=":material/speed:"),
    ],
    position="top",
).run()
