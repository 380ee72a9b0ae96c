"""Places of the source: what a user knows, where the compiler may have made several sites of one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import LaunchTrace

SitePlace = tuple[str, str, str, int]
"""Kind, variable, file and line."""


def base_name(path: str) -> str:
    """The file's own name: traces of other machines have other folders, and other separators."""
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def places_of_sites(
    launch: LaunchTrace, sites: Iterable[int] | None = None
) -> tuple[list[SitePlace], NDArray[np.int64]]:
    """Distinct places of these sites (None for all), and the number of its own for each site.

    A compiler that peels or unrolls a loop makes several sites of one source line. -1 for sites that are left out, and
    once more at the end for site -1.
    """
    numbers: dict[SitePlace, int] = {}
    of_site = np.full(len(launch.sites) + 1, -1, np.int64)
    for index in range(len(launch.sites)) if sites is None else sites:
        site = launch.sites[index]
        of_site[index] = numbers.setdefault((site.kind, site.variable, site.file, site.line), len(numbers))
    return list(numbers), of_site
