"""The allocator's counters as a series has them: the same names in the files of `ullage run` and in what a logger gets."""
from __future__ import annotations

from typing import Any, Mapping

# Name in a series: key of torch.cuda.memory_stats(). What ends in _bytes is in bytes; peaks are since the last reset of the
# peaks; retries and failures are numbers of allocations since the process began.
COUNTERS: Mapping[str, str] = {
    "allocated_bytes": "allocated_bytes.all.current",
    "allocated_peak_bytes": "allocated_bytes.all.peak",
    "reserved_bytes": "reserved_bytes.all.current",
    "reserved_peak_bytes": "reserved_bytes.all.peak",
    "active_bytes": "active_bytes.all.current",
    "requested_bytes": "requested_bytes.all.current",
    "inactive_split_bytes": "inactive_split_bytes.all.current",
    "retries": "num_alloc_retries",
    "failures": "num_ooms",
}


def of(stats: Mapping[str, Any]) -> dict[str, int]:
    """The counters in what torch.cuda.memory_stats() returns; 0 for what this release does not count."""
    return {name: int(stats.get(key, 0)) for name, key in COUNTERS.items()}
