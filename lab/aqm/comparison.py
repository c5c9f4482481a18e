# SPDX-License-Identifier: GPL-2.0
"""Compare a qdisc with mainline's, as netns-scenarios/compare does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from aqmlab.run import inputs

from . import arguments, cache


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    verdicts: a row per workload, metric, variant and rival, with means and 95 % intervals
    directory: of report.html and of all runs
    """

    verdicts: pd.DataFrame
    directory: Path

    @property
    def report(self) -> Path:
        """The report as one HTML file."""
        return self.directory / "report.html"

    @property
    def counts(self) -> pd.DataFrame:
        """How many verdicts of each sort there are, for each variant and rival."""
        return pd.crosstab(
            [self.verdicts["mine"], self.verdicts["other"]], self.verdicts["verdict"]
        )

    def _repr_html_(self) -> str:
        return str(self.counts.to_html())


def compare(
    mine: str,
    *,
    against: str | Iterable[str] = (),
    module: str | Path | None = None,
    name: str = "",
    seeds: int = 3,
    workloads: str | Iterable[str] = (),
    metrics: str | Iterable[str] = (),
    **settings: object,
) -> Comparison:
    """Compare a qdisc with others in the workloads of the demo; see docs/your-own.md.

    mine: kind and options, with placeholders such as {buffer}
    against: kinds or whole lines; mainline's by default
    module: a directory with modules to build and load
    workloads: names as `compare --help` lists them; all by default
    metrics: as for `compare --metric`; all metrics of the tables by default
    settings: values for further placeholders in `mine`, one variant per value; or one value for
        a parameter of all runs. True and False stand for on and off

    Raises UserError for a wrong argument, and RunError if a run fails.
    """
    words = ["--mine", arguments.text("mine", mine), "--name", arguments.text("name", name)]
    words += ["--seeds", str(arguments.whole("seeds", seeds))]
    words += ["--against", ",".join(arguments.texts("against", against))]
    for option, given in (("workload", workloads), ("metric", metrics)):
        words += [w for one in arguments.texts(option, given) for w in (f"--{option}", one)]
    read: list[str] = []
    for key, values in settings.items():
        chosen = [arguments.setting(key, one) for one in arguments.several(key, values)]
        words += ["--set", f"{key}={','.join(chosen)}"]
        if key in inputs.FILES:
            read += [
                inputs.hash_of(Path(one).read_bytes()) for one in chosen if Path(one).is_file()
            ]
    paths = [Path(arguments.text("module", module)).resolve()] if module else []
    words += [word for path in paths for word in ("--module", str(path))]
    directory = cache.place(["compare", *words, *read], "", "", paths)
    cache.kept(directory, "verdicts.csv", "compare", words)
    return Comparison(pd.read_csv(directory / "verdicts.csv"), directory)
