"""The process that does one job: ``python -m eap_core.worker JOB``."""

from __future__ import annotations

import sys

from eap_core.jobs import work_on
from eap_core.store.opening import opened_store


def main(job: str) -> None:
    with opened_store() as store:
        work_on(store, job)


if __name__ == "__main__":
    main(sys.argv[1])
