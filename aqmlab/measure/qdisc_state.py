# SPDX-License-Identifier: GPL-2.0
"""What a discipline says of itself in a run: its own statistics, by name, at each sample."""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.qdiscs import interface, xstats


def samples(kind: str, raw: Sequence[bytes]) -> list[dict[str, interface.Value]]:
    """The discipline's own statistics at each sample; nothing of a kind that has none or that
    nothing describes."""
    if kind in interface.kinds():
        known = interface.read(kind).qdisc
        return [{s.name: s.value(v) for s in known if (v := s.raw(one)) is not None}
                for one in raw]
    return [dict(xstats.values(kind, one)) for one in raw] if xstats.known(kind) else []
