"""The app as a process of its own, to be tested, timed or photographed, killed and restarted."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]


class AppServer:
    """Started as the README says, on a store of its own; the same address after a restart."""

    def __init__(self, home: Path) -> None:
        self.home = home
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
        self.process = subprocess.Popen(
            [*command, "--server.port", str(self.port)],
            cwd=ROOT,
            env={**os.environ, "EAP_HOME": str(self.home), "EAP_STORE": ""},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    def kill(self) -> None:
        """As when the power fails: nothing is finished or told."""
        self.process.kill()
        self.process.wait(timeout=20)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:  # a busy machine: it has had its chance to tidy up
            self.kill()

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """The server can write nothing until this ends."""
        pid, unlimited = self.process.pid, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        try:
            yield
        finally:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)

    def _wait(self) -> None:
        for _ in range(480):
            if self.process.poll() is not None:
                raise RuntimeError("the server ended before it answered")
            try:
                with urlopen(f"{self.address}/_stcore/health", timeout=2):
                    return
            except (URLError, OSError):
                time.sleep(0.25)
        raise RuntimeError("the server did not answer within two minutes")
