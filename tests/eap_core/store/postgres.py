"""A throw-away PostgreSQL server on a socket in its own folder; no network."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest

_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
_NUMBERS = count()
_OWNER = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root


@dataclass
class Server:
    folder: Path
    fsync: bool
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "max_connections": "60",
            "fsync": "on" if self.fsync else "off",
            "shared_buffers": "32MB",
        }
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(str(_program("postgres")), "-D", str(self.folder / "data")),
                    *(
                        word
                        for name, value in settings.items()
                        for word in ("-c", f"{name}={value}")
                    ),
                ],
                stdout=log,
                stderr=log,
                user=_OWNER,
                group=_OWNER,
                cwd="/",
            )
        self._wait()

    def new_database(self) -> str:
        """The address of an empty schema, which costs less than a database."""
        name = f"eap{next(_NUMBERS)}"
        with psycopg.connect(self._login(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        options = f"options=-csearch_path%3D{name}"
        return f"postgresql+psycopg://postgres@/postgres?host={self.folder}&{options}"

    def kill(self) -> None:
        """End every process of the server at once, as a power cut would."""
        assert self.process
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        victims = [self.process.pid, *map(int, children.read_text().split())]
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        self.process.wait()
        for victim in victims[1:]:  # the new server refuses to start beside the old one's memory
            while Path(f"/proc/{victim}/stat").exists() and not _zombie(victim):
                time.sleep(0.01)
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def remove(self) -> None:
        self.kill()  # an orderly end would write out what nobody will read
        shutil.rmtree(self.folder)

    def _wait(self) -> None:
        for _ in range(600):
            try:
                psycopg.connect(self._login()).close()
            except psycopg.OperationalError:
                time.sleep(0.1)
            else:
                return
        pytest.fail((self.folder / "log").read_text()[-2000:])

    def _login(self) -> str:
        return f"host={self.folder} user=postgres dbname=postgres"


def new_server(*, fsync: bool) -> Server:
    """A running server with a fresh cluster; skips where PostgreSQL is not installed."""
    if not _BINARIES:
        pytest.skip("needs the PostgreSQL server's programs")
    folder = Path(tempfile.mkdtemp(prefix="eap-pg-"))
    if _OWNER:
        shutil.chown(folder, _OWNER, _OWNER)
    subprocess.run(
        [
            *(str(_program("initdb")), "-D", str(folder / "data"), "-U", "postgres"),
            *("--no-sync", "--encoding=UTF8", "--locale=C"),
        ],
        check=True,
        capture_output=True,
        user=_OWNER,
        group=_OWNER,
        cwd="/",
    )
    server = Server(folder, fsync)
    server.start()
    return server


def _program(name: str) -> Path:
    return _BINARIES[-1].with_name(name)


def _zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
