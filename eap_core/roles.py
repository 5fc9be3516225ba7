"""What an item is in a project."""

from __future__ import annotations

from typing import Literal, get_args

Role = Literal["normal", "anomaly", "candidate", "test_normal", "test_anomaly"]
ROLES: tuple[Role, ...] = get_args(Role)
