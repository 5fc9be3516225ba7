"""The app as a process of its own, to be tested, timed or photographed, killed and restarted."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
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
        self.process.wait(timeout=20)

    def _wait(self) -> None:
        for _ in range(240):
            if self.process.poll() is not None:
                raise RuntimeError("the server ended before it answered")
            try:
                with urlopen(f"{self.address}/_stcore/health", timeout=2):
                    return
            except (URLError, OSError):
                time.sleep(0.25)
        raise RuntimeError("the server did not answer within a minute")
