# SPDX-License-Identifier: GPL-2.0
"""Compute everything that the pages say of a paper and its claims."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aqmlab.measure import derived_metrics
from aqmlab.report import intervals
from aqmlab.run.execute import EDITION

from . import joint, paper_plots, points, questions, time_plots
from .claim_types import Ablation, Claim
from .claim_verdict import ClaimVerdict, Decision
from .judgement import Judgement, calibrates, holds_for_all, tally
from .markdown import NOT_RUN
from .paper import Paper
from .row import Row

#: CPU seconds that a cell costs beside its run, alone and as a cluster's job.
SETUP_S, JOB_S = 0.5, 3.7
#: Senders wait for their receiver's window for more than this share of the time: worth saying.
HELD_BACK = 0.05


def _minutes(cells: Sequence[Row]) -> float:
    return float(sum({row["cell"]: row["cpu_s"] for row in cells}.values()) / 60)


@dataclass(frozen=True)
class ClaimModel:
    """A claim with all that pages say of it.

    ablations: each with its verdict
    profiles: the verdict with each other TCP profile that has run, by its head
    """

    claim: Claim
    judged: ClaimVerdict
    ablations: Sequence[tuple[Ablation, ClaimVerdict]]
    profiles: Mapping[str, ClaimVerdict]
    calibrates: bool

    @property
    def measured(self) -> str:
        """What we measured, with its interval and unit."""
        return self.claim.shown(self.judged.value)

    @property
    def verdict(self) -> str:
        """The verdict, with the open parameter or what keeps it from being decided."""
        why = self.judged.why_not
        short = why if why.startswith("the paper leaves") else why.partition(":")[0]
        if self.judged.verdict in (Decision.CONFIRMED, Decision.CONTRADICTED) or not short:
            return self.judged.verdict
        return f"{self.judged.verdict}: {short}"

    @property
    def cost(self) -> str:
        """How many runs judge the claim, and what they cost."""
        cells = len({row["cell"] for row in self.judged.cells})
        return (
            f"{self.judged.seeds} seeds, {cells} cells, {_minutes(self.judged.cells):.1f} "
            "CPU minutes"
        )

    @property
    def held_back(self) -> float:
        """Largest share of the time, %, that a group waited for its receiver's window, if worth
        saying."""
        share = max(
            (
                float(group.get("window_limited", 0))
                for row in self.judged.cells
                for group in row["metrics"].get("groups", {}).values()
            ),
            default=0.0,
        )
        return 100 * share if share > HELD_BACK else 0.0


@dataclass(frozen=True)
class PageModel:
    """All that the pages say of one paper."""

    judgement: Judgement

    @property
    def paper(self) -> Paper:
        """The paper."""
        return self.judgement.paper

    @property
    def name(self) -> str:
        """Its name in the repository."""
        return self.paper.name

    @property
    def title(self) -> str:
        """Author, year and title."""
        return str(self.paper.text["title"])

    @cached_property
    def every(self) -> Mapping[str, ClaimModel]:
        """All claims by id."""
        profiles = [profile for profile in self.judgement.profiles if profile.judged.rows]
        return {
            claim.id: ClaimModel(
                claim,
                self.judgement.verdicts[claim.id],
                self.judgement.ablations[claim.id],
                {profile.head: profile.judged.verdicts[claim.id] for profile in profiles},
                calibrates(claim, self.paper),
            )
            for claim in self.judgement.claims
        }

    @property
    def claims(self) -> list[ClaimModel]:
        """The claims about disciplines."""
        return [claim for claim in self.every.values() if not claim.calibrates]

    @property
    def calibration(self) -> list[ClaimModel]:
        """The claims about TCP alone."""
        return [claim for claim in self.every.values() if claim.calibrates]

    def counts(self) -> dict[str, int]:
        """Count the claims about disciplines by verdict."""
        return tally(claim.judged for claim in self.claims)

    @cached_property
    def joint(self) -> list[joint.Figure]:
        """The figures that an open setting decides."""
        return joint.figures(self.judgement)

    def points(
        self, metric: str, discipline: str, others: Sequence[str], experiments: Sequence[str]
    ) -> list[points.Point]:
        """Compare a discipline with others at each point of experiments."""
        return points.points(self.judgement.rows, metric, discipline, others, experiments)

    @property
    def workload_ids(self) -> list[str]:
        """Confirmed claims that no other working discipline contradicts."""
        return holds_for_all(self.judgement)

    def fates(self, head: str) -> Counter[tuple[str, str]]:
        """Count the claims by their intervals with the paper's TCP and with another profile."""
        (now,) = (
            profile.judged.plain for profile in self.judgement.profiles if profile.head == head
        )
        return Counter(
            (self.judgement.plain[model.claim.id].verdict, now[model.claim.id].verdict)
            for model in self.claims
            if not model.claim.stand_in
        )

    @property
    def profiles(self) -> list[str]:
        """Heads of the other TCP profiles that have run."""
        return [profile.head for profile in self.judgement.profiles if profile.judged.rows]

    @cached_property
    def not_run(self) -> list[str]:
        """List the experiments without a row."""
        ran = {row["experiment"] for row in self.judgement.rows}
        return [known.name for known in self.paper.experiments if known.name not in ran]

    def number(
        self,
        experiment: str,
        discipline: str,
        metric: str,
        *,
        scale: float = 1.0,
        digits: int = 0,
        median: bool = False,
        interval: bool = False,
        **at: Any,
    ) -> str:
        """Return the mean of a metric over the seeds at one point of an experiment, as text.

        median: return the median instead, for a search that ends at its largest value
        interval: append half of the mean's 95 % interval, if there are two seeds
        at: value of each axis
        Returns NOT_RUN if no row of that point has the metric.
        Raises ValueError if the paper has no such point.
        """
        (known,) = (each for each in self.paper.experiments if each.name == experiment)
        if (
            discipline not in known.disciplines
            or at.keys() != known.axes.keys()
            or any(value not in known.axes[axis] for axis, value in at.items())
        ):
            raise ValueError(f"{self.name}: {experiment} has no {discipline} at {at}")
        values = []
        for row in self.judgement.rows:
            if (row["experiment"], row["discipline"], row["at"]) == (experiment, discipline, at):
                with suppress(derived_metrics.Absent):
                    values.append(derived_metrics.metric_of(row["metrics"], metric))
        if not values:
            return NOT_RUN
        average = statistics.median if median else statistics.fmean
        shown = f"{scale * average(values):.{digits}f}"
        if interval and len(values) > 1:
            shown += f" ± {scale * intervals.mean(values).half:.{digits}f}"
        return shown

    @property
    def minutes(self) -> float:
        """CPU minutes of all runs with the paper's TCP."""
        return _minutes(self.judgement.rows)

    @property
    def of_this_edition(self) -> float:
        """Share of the runs with the paper's TCP that this edition of the lab made; 0 without."""
        mine = sum(row["made"]["edition"] == EDITION for row in self.judgement.rows)
        return mine / max(1, len(self.judgement.rows))

    @property
    def largest_use(self) -> float:
        """Largest utilization of a link in a run, which no link should exceed; 0 without runs."""
        uses = (float(row["metrics"]["summary"]["utilization"]) for row in self.judgement.rows)
        return max(uses, default=0.0)

    @property
    def hours_of_10000(self) -> tuple[float, float]:
        """CPU hours of 10 000 such cells: on one machine, and as jobs of a cluster."""
        each = 60 * self.minutes / max(1, len({row["cell"] for row in self.judgement.rows}))
        return (each + SETUP_S) * 10_000 / 3600, (each + SETUP_S + JOB_S) * 10_000 / 3600

    @cached_property
    def questions(self) -> list[questions.Ranked]:
        """Its questions, with the disciplines ranked."""
        return questions.ranked(self.paper, self.judgement.rows)

    @cached_property
    def pictures(self) -> list[tuple[Mapping[str, Any], str, list[str]]]:
        """Each plot that can be drawn: its entry in sweep.toml, SVG text, and numbers as a table
        in Markdown."""
        over_time = time_plots.found(self.paper)
        return [
            (spec, drawn, paper_plots.numbers(spec, self.paper, self.judgement.rows))
            for spec in self.paper.text.get("plot", ())
            if (drawn := paper_plots.plot(spec, self.paper, self.judgement.rows, over_time))
        ]

    def file_of(self, spec: Mapping[str, Any]) -> str:
        """Name the file of a picture."""
        return f"{self.name}-{spec['name']}.svg"

    @property
    def main_pictures(self) -> list[Mapping[str, Any]]:
        """The plots whose pictures are committed."""
        return [spec for spec, *_ in self.pictures if spec.get("main")]

    @cached_property
    def made_with(self) -> Mapping[str, Counter[str]]:
        """Commits, modules, kernels, compilers and tc, each with its number of runs."""
        rows = [
            *self.judgement.rows,
            *(row for other in self.judgement.profiles for row in other.judged.rows),
        ]
        return {
            "edition of the lab": Counter(str(row["made"]["edition"]) for row in rows),
            "version": Counter(row["made"]["version"] for row in rows),
            "module (srcversion)": Counter(
                f"{name} {version}"
                for row in rows
                for name, version in row["made"]["modules"].items()
                if version
            ),
            "kernel (first half of the image's SHA-256)": Counter(
                row["made"]["kernel"] for row in rows
            ),
            "compiler": Counter(row["made"]["compiler"] for row in rows),
            "tc": Counter(row["made"]["tc"] for row in rows),
        }
