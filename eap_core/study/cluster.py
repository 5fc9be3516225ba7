"""The same cells on a dask.distributed cluster, whose workers see the same folder of data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from eap_core.errors import SettingsError, shown
from eap_core.study.cell import Cell, run
from eap_core.study.running import Compute, Finished, outcome_of

_PATIENCE = 20  # seconds until a scheduler must have answered


def on_cluster(address: str) -> Compute:
    """Workers may come and go: a cell whose worker is lost is given to another."""
    return partial(_on_cluster, address)


def _on_cluster(address: str, cells: Sequence[Cell]) -> Iterator[Finished]:
    from distributed import Client, as_completed

    if not cells:
        return
    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise SettingsError(
            f"no scheduler answers at {shown(address)} — start one with `dask scheduler`, and "
            f"workers with `dask worker {address} --nthreads 1`"
        ) from error
    with client:
        futures = {client.submit(run, cell, pure=False): cell for cell in cells}
        for future in as_completed(futures):
            cell = futures[future]
            yield cell, outcome_of(cell, future.result)
            future.release()
