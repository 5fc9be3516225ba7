"""The process that does one job: ``python -m eap_core.worker JOB``."""

from __future__ import annotations

import gc
import sys

from eap_core.collector import paused_collector


def main(job: str) -> None:
    # What is imported stays: to search it for garbage would make a small job a tenth slower.
    with paused_collector():
        from eap_core.jobs import work_on
        from eap_core.store.opening import opened_store

        gc.freeze()
    with opened_store() as store:
        work_on(store, job)


if __name__ == "__main__":
    main(sys.argv[1])
