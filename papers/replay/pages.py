# SPDX-License-Identifier: GPL-2.0
"""Render docs/results and the site from one model per paper, which is computed first.

A person writes each page (`papers/NAME/page.md.j2`). In it, `m("K01")` is what we measured for a
claim and `v("K01")` is its verdict, so that no number in the text can grow stale.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from aqmlab.run.execute import EDITION

from . import calibration, questions, ranking
from .claim_verdict import Decision
from .judgement import tally, tally_of_causes
from .markdown import NOT_RUN, as_number, cell, finished, of_any
from .page_model import PageModel
from .paper import PAPERS

#: Papers that are our own questions.
QUESTIONS = ("buffers", "dropcut", "memory", "mixed", "settings", "today")
TEMPLATES = Path(__file__).with_name("templates")


@functools.cache
def environment(directory: Path) -> jinja2.Environment:
    """Return what renders the templates of a directory, and ours."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([directory, TEMPLATES]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=lambda name: bool(name and name.endswith(".html.j2")),
    )
    made.filters |= {
        "cell": cell,
        "float": as_number,
        "max": of_any(max),
        "median": of_any(statistics.median),
        "min": of_any(min),
        "over": lambda point, name: point.over(name),
    }
    made.globals |= {
        "EDITION": EDITION,
        "NOT_RUN": NOT_RUN,
        "VERDICTS": tuple(Decision),
        "cell_of": questions.cell_of,
        "one_for_all": questions.one_for_all,
        "pairs": ranking.pairs,
        "sum": sum,
    }
    return made


def render(template: str, **values: Any) -> str:
    """Render a template of papers/, by its path there."""
    return finished(environment(PAPERS).get_template(template).render(**values))


def page(model: PageModel, every: Sequence[PageModel]) -> dict[str, str]:
    """Render the page of a paper and its committed pictures: texts by file name."""
    files = {model.file_of(spec): drawn for spec, drawn, _ in model.pictures if spec.get("main")}
    for template in sorted((PAPERS / model.name).glob("*.md.j2")):
        # page.md.j2 is in docs/results; any other one is in docs.
        name = template.name.removesuffix(".md.j2")
        files[f"{model.name}.md" if name == "page" else f"../{model.name}-{name}.md"] = render(
            f"{model.name}/{template.name}",
            model=model,
            every=every,
            number=model.number,
            m=lambda key: model.every[key].measured,
            v=lambda key: model.every[key].judged.verdict,
        )
    return files


def overview(every: Sequence[PageModel]) -> dict[str, str]:
    """Render the pages about all papers."""
    by_name = {model.name: model for model in every}

    def measured(name: str, key: str) -> str:
        return by_name[name].every[key].measured

    papers = [model for model in every if model.name not in QUESTIONS]
    judged = [(claim.claim, claim.judged) for model in papers for claim in model.claims]
    values: dict[str, Any] = {
        "every": every,
        "papers": papers,
        "by_name": by_name,
        "m": measured,
        "laws": calibration.lines(),
        "causes": tally_of_causes(judged),
        "choke": calibration.choke_lines(by_name["ahammed2010"].number),
        "orders": tally(verdict for claim, verdict in judged if claim.kind == "order"),
        "numbers": tally(verdict for claim, verdict in judged if claim.kind == "number"),
        "worst_q": max(
            (
                q
                for model in papers
                for key, q in model.judgement.q_values.items()
                if model.judgement.verdicts[key].verdict
                not in (Decision.ANOTHER, Decision.INCONCLUSIVE)
            ),
            default=math.nan,
        ),
    }
    return {
        "README.md": render("index.md.j2", **values),
        "calibration.md": render("calibration.md.j2", **values),
    }


def site(every: Sequence[PageModel]) -> dict[str, str]:
    """Render the site: an index, and a page with everything about each paper."""
    names = [(model.name, model.title) for model in every]
    files = {"index.html": render("site-index.html.j2", every=every, names=names)}
    for model in every:
        files |= {model.file_of(spec): drawn for spec, drawn, _ in model.pictures}
        files[f"{model.name}.html"] = render("site.html.j2", model=model)
    return files
