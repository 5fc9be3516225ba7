"""Entry point: the server imports this file once, and each visit runs it from top to bottom."""

from pathlib import Path

import streamlit as st

if __name__ == "__main__":
    from ui import frame, session

    ICON = Path(__file__).parent / "assets" / "icon.png"  # a named icon is fetched from outside
    st.set_page_config(page_title="EAP Curator", page_icon=str(ICON), layout="wide")
    session.start()
    step = st.navigation(frame.list_pages(), position="hidden")
    session.go_on([one.file for one in frame.STEPS])
    with frame.show_errors():
        frame.show_steps()
        step.run()
else:
    from ui import server

    server.refuse_strangers()
    app = st.App(__file__, routes=server.routes(), lifespan=server.lifespan)
