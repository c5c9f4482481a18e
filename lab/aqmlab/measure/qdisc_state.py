# SPDX-License-Identifier: GPL-2.0
"""Decode a discipline's own statistics at each sample of a run."""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.qdiscs import interface, xstats
from aqmlab.qdiscs.own_statistics import Field


def samples(
    kind: str, raw: Sequence[bytes], own: Sequence[Field] = ()
) -> list[dict[str, interface.Value]]:
    """Return the statistics by name, one dict per sample.

    own: the layout of a qdisc from outside the checkout, as in run.json
    The list is empty if the kind has no statistics, or if we do not know their layout.
    """
    if kind in interface.kinds():
        known = interface.read(kind).qdisc
        return [
            {s.name: s.value(v) for s in known if (v := s.raw(sample)) is not None}
            for sample in raw
        ]
    if not xstats.known(kind, own):
        return []
    return [dict(xstats.values(kind, sample, own)) for sample in raw]
