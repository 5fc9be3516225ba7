# The application with all its extras, for one machine or behind a proxy with a login.
FROM python:3.11-slim AS build
WORKDIR /src
# Where pip looks beside its usual place: for example that of torch's builds without CUDA.
ARG PIP_EXTRA_INDEX_URL
# The lock first: it changes rarely, and installing it takes minutes.
COPY requirements.txt ./
RUN python -m venv /opt/eap && /opt/eap/bin/pip install --no-cache-dir -r requirements.txt
COPY pyproject.toml README.md LICENSE app.py ./
COPY eap_core ./eap_core
COPY pages ./pages
COPY ui ./ui
COPY assets ./assets
COPY .streamlit/config.toml ./.streamlit/config.toml
RUN /opt/eap/bin/pip install --no-cache-dir --no-deps .

FROM python:3.11-slim
COPY --from=build /opt/eap /opt/eap
RUN useradd --create-home --uid 1000 eap && mkdir /data && chown eap:eap /data
USER 1000
WORKDIR /home/eap
# EAP_OPEN: inside a container every address is the container's own; who reaches it is decided where
# its port is published (compose.yaml: this machine alone).
ENV PATH=/opt/eap/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    EAP_HOME=/data \
    EAP_OPEN=yes \
    STREAMLIT_SERVER_HEADLESS=true
VOLUME ["/data"]
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["eap", "app", "--port", "8501", "--address", "0.0.0.0"]
