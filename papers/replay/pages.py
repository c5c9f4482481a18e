# SPDX-License-Identifier: GPL-2.0
"""Render docs/results and the site from one model per paper, which is computed first.

A person writes each page (`papers/NAME/page.md.j2`). In it, `m("K01")` is what we measured for a
claim and `v("K01")` is its verdict, so that no number in the text can grow stale.
"""

from __future__ import annotations

import functools
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2

from aqmlab.measure import derived_metrics

from . import calibration, joint, judgement, paper_plots, points, ranking, time_plots
from .claim_verdict import ANOTHER, CONFIRMED, CONTRADICTED, INCONCLUSIVE, VERDICTS, ClaimVerdict
from .claims import Ablation, Claim
from .judgement import Judgement, tally, tally_of_causes
from .markdown import cell
from .paper import PAPERS, Paper
from .row import Row

#: CPU seconds that a cell costs beside its run, alone and as a cluster's job.
SETUP_S, JOB_S = 0.5, 3.7
#: Senders wait for their receiver's window for more than this share of the time: worth saying.
HELD_BACK = 0.05
#: Papers that are our own questions.
QUESTIONS = ("buffers", "today")
TEMPLATES = Path(__file__).with_name("templates")


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
        if self.judged.verdict in (CONFIRMED, CONTRADICTED) or not short:
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

    one: Judgement

    @property
    def paper(self) -> Paper:
        """The paper."""
        return self.one.paper

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
        profiles = [one for one in self.one.profiles if one.judged.rows]
        return {
            claim.id: ClaimModel(
                claim,
                self.one.verdicts[claim.id],
                self.one.ablations[claim.id],
                {one.head: one.judged.verdicts[claim.id] for one in profiles},
                judgement.calibrates(claim, self.paper),
            )
            for claim in self.one.claims
        }

    @property
    def claims(self) -> list[ClaimModel]:
        """The claims about disciplines."""
        return [one for one in self.every.values() if not one.calibrates]

    @property
    def calibration(self) -> list[ClaimModel]:
        """The claims about TCP alone."""
        return [one for one in self.every.values() if one.calibrates]

    def counts(self) -> dict[str, int]:
        """Count the claims about disciplines by verdict."""
        return tally(one.judged for one in self.claims)

    @cached_property
    def joint(self) -> list[joint.Figure]:
        """The figures that an open setting decides."""
        return joint.figures(self.one)

    def points(
        self, metric: str, discipline: str, others: Sequence[str], experiments: Sequence[str]
    ) -> list[points.Point]:
        """Compare a discipline with others at each point of experiments."""
        return points.points(self.one.rows, metric, discipline, others, experiments)

    @property
    def workload_ids(self) -> list[str]:
        """Confirmed claims that no other working discipline contradicts."""
        return judgement.holds_for_all(self.one)

    def fates(self, head: str) -> Counter[tuple[str, str]]:
        """Count the claims by their intervals with the paper's TCP and with another profile."""
        (now,) = (one.judged.plain for one in self.one.profiles if one.head == head)
        return Counter(
            (self.one.plain[one.claim.id].verdict, now[one.claim.id].verdict)
            for one in self.claims
            if not one.claim.stand_in
        )

    @property
    def profiles(self) -> list[str]:
        """Heads of the other TCP profiles that have run."""
        return [one.head for one in self.one.profiles if one.judged.rows]

    @cached_property
    def not_run(self) -> list[str]:
        """List the experiments without a row."""
        ran = {row["experiment"] for row in self.one.rows}
        return [one.name for one in self.paper.experiments if one.name not in ran]

    def number(
        self,
        experiment: str,
        discipline: str,
        metric: str,
        *,
        scale: float = 1.0,
        digits: int = 0,
        median: bool = False,
        **at: Any,
    ) -> str:
        """Return the mean of a metric over the seeds at one point of an experiment, as text.

        median: return the median instead, for a search that ends at its largest value
        at: value of each axis
        Returns "not run" if no row of that point has the metric.
        Raises ValueError if the paper has no such point.
        """
        (known,) = (one for one in self.paper.experiments if one.name == experiment)
        if (
            discipline not in known.disciplines
            or at.keys() != known.axes.keys()
            or any(value not in known.axes[axis] for axis, value in at.items())
        ):
            raise ValueError(f"{self.name}: {experiment} has no {discipline} at {at}")
        values = []
        for row in self.one.rows:
            if (row["experiment"], row["discipline"], row["at"]) == (experiment, discipline, at):
                with suppress(derived_metrics.Absent):
                    values.append(derived_metrics.metric_of(row["metrics"], metric))
        average = statistics.median if median else statistics.fmean
        return f"{scale * average(values):.{digits}f}" if values else "not run"

    @property
    def minutes(self) -> float:
        """CPU minutes of all runs with the paper's TCP."""
        return _minutes(self.one.rows)

    @property
    def largest_use(self) -> float:
        """Largest utilization of a link in a run, which no link should exceed."""
        return max(float(row["metrics"]["summary"]["utilization"]) for row in self.one.rows)

    @property
    def hours_of_10000(self) -> tuple[float, float]:
        """CPU hours of 10 000 such cells: on one machine, and as jobs of a cluster."""
        each = 60 * self.minutes / max(1, len({row["cell"] for row in self.one.rows}))
        return (each + SETUP_S) * 10_000 / 3600, (each + SETUP_S + JOB_S) * 10_000 / 3600

    @cached_property
    def questions(self) -> list[ranking.Ranked]:
        """Its questions, with the disciplines ranked."""
        return ranking.ranked(self.paper, self.one.rows)

    @cached_property
    def pictures(self) -> list[tuple[Mapping[str, Any], str, list[str]]]:
        """Each plot that can be drawn: its entry in sweep.toml, SVG text, and numbers as a table
        in Markdown."""
        over_time = time_plots.found(self.paper)
        return [
            (spec, drawn, paper_plots.numbers(spec, self.paper, self.one.rows))
            for spec in self.paper.text.get("plot", ())
            if (drawn := paper_plots.plot(spec, self.paper, self.one.rows, over_time))
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
        rows = [*self.one.rows, *(row for other in self.one.profiles for row in other.judged.rows)]
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


@functools.cache
def _environment(directory: Path) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([directory, TEMPLATES]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=lambda name: bool(name and name.endswith(".html.j2")),
    )
    environment.filters |= {
        "cell": cell,
        "median": statistics.median,
        "over": lambda point, name: point.over(name),
    }
    environment.globals |= {
        "VERDICTS": VERDICTS,
        "cell_of": ranking.cell_of,
        "one_for_all": ranking.one_for_all,
        "pairs": ranking.pairs,
        "sum": sum,
    }
    return environment


def render(template: str, **values: Any) -> str:
    """Render a template of papers/, by its path there."""
    return _environment(PAPERS).get_template(template).render(**values)


def page(one: PageModel, every: Sequence[PageModel]) -> dict[str, str]:
    """Render the page of a paper and its committed pictures: texts by file name."""
    files = {one.file_of(spec): drawn for spec, drawn, _ in one.pictures if spec.get("main")}
    for template in sorted((PAPERS / one.name).glob("*.md.j2")):
        # page.md.j2 is in docs/results; any other one is in docs.
        name = template.name.removesuffix(".md.j2")
        files[f"{one.name}.md" if name == "page" else f"../{one.name}-{name}.md"] = render(
            f"{one.name}/{template.name}",
            one=one,
            every=every,
            number=one.number,
            m=lambda key: one.every[key].measured,
            v=lambda key: one.every[key].judged.verdict,
        )
    return files


def overview(every: Sequence[PageModel]) -> dict[str, str]:
    """Render the pages about all papers."""
    by_name = {one.name: one for one in every}

    def measured(name: str, key: str) -> str:
        return by_name[name].every[key].measured

    papers = [one for one in every if one.name not in QUESTIONS]
    judged = [(each.claim, each.judged) for one in papers for each in one.claims]
    values: dict[str, Any] = {
        "every": every,
        "papers": papers,
        "by_name": by_name,
        "m": measured,
        "laws": calibration.lines(),
        "causes": tally_of_causes(judged),
        "choke": calibration.choke_lines(by_name["ahammed2010"].number),
        "orders": tally(one for claim, one in judged if claim.kind == "order"),
        "numbers": tally(one for claim, one in judged if claim.kind == "number"),
        "worst_q": max(
            q
            for one in papers
            for key, q in one.one.q_values.items()
            if one.one.verdicts[key].verdict not in (ANOTHER, INCONCLUSIVE)
        ),
    }
    return {
        "README.md": render("index.md.j2", **values),
        "calibration.md": render("calibration.md.j2", **values),
    }


def site(every: Sequence[PageModel]) -> dict[str, str]:
    """Render the site: an index, and a page with everything about each paper."""
    files = {"index.html": render("site-index.html.j2", every=every)}
    for one in every:
        files |= {one.file_of(spec): drawn for spec, drawn, _ in one.pictures}
        files[f"{one.name}.html"] = render("site.html.j2", one=one)
    return files
