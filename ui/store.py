"""The one store of this server, opened once and shared by every visitor."""

from __future__ import annotations

import streamlit as st

from eap_core.store.opening import open_store
from eap_core.store.store import Store


@st.cache_resource(show_spinner=False)
def opened() -> Store:
    """The store that EAP_HOME and EAP_STORE name; safe to share between threads."""
    return open_store()
