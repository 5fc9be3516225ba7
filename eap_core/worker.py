"""The process that does one job: ``python -m eap_core.worker JOB``."""

from __future__ import annotations

import gc
import sys

from eap_core.base.files import pause_gc


def main(job: str) -> None:
    # What is imported stays: to search it for garbage would make a small job a tenth slower.
    with pause_gc():
        from eap_core.jobs import work_on
        from eap_core.store.store import open_current_store

        gc.freeze()
    with open_current_store() as store:
        work_on(store, job)


if __name__ == "__main__":
    main(sys.argv[1])
