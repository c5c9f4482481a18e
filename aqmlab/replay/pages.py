# SPDX-License-Identifier: GPL-2.0
"""The pages of docs/results: what was judged, drawn and run, in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from . import judgement, paper_plots, ranking, time_plots
from .claim_verdict import CONFIRMED, DIFFERS, UNDECIDED, Judged
from .claims import Claim
from .judgement import FATES, Judgement, tally
from .markdown import cell, many

#: CPU seconds that a cell costs beside its run, alone and as a cluster's job; and a cluster's CPUs.
SETUP_S, JOB_S, CPUS = 0.5, 3.7, 200
#: Behind what is accepted where cells had run before.
SEEN = " †"
#: Share of the time that is worth saying.
HELD_BACK = 0.05

Row = Mapping[str, Any]


def _minutes(cells: Sequence[Row]) -> float:
    return sum({row["cell"]: row["cpu_s"] for row in cells}.values()) / 60


def _held_back(cells: Sequence[Row]) -> str:
    """For how much of their time senders of one of the cells waited for their receiver's window,
    if for more than a few percent."""
    share = max((float(group.get("window_limited", 0)) for row in cells
                 for group in row["figures"].get("groups", {}).values()), default=0.0)
    return (f"; its receivers' windows held a group back for up to {100 * share:.0f} % of the time"
            if share > HELD_BACK else "")


def _behind(judged: Judged) -> str:
    cells = len({row["cell"] for row in judged.cells})
    if not cells:
        return ""
    return (f"{many(judged.seeds, 'seed')}, {many(cells, 'cell')}, "
            f"{_minutes(judged.cells):.1f} CPU min{_held_back(judged.cells)}")


def _said(judged: Judged, seeds: int) -> str:
    """A verdict, and what there is to say of it. seeds: how many there should be."""
    if judged.verdict == UNDECIDED:
        return f"{judged.verdict}: {judged.why_not}"
    return judged.verdict + (f", {judged.seeds} of {seeds} seeds" if judged.seeds < seeds else "")


def _in_short(claim: Claim, judged: Judged) -> str:
    if judged.why_not.startswith("absent") and not judged.value:
        return "absent"
    return f"**{judged.verdict}** {claim.shown(judged.value) or judged.why_not}"


def _legend(one: Judgement) -> list[str]:
    """What the words of the table mean, as far as it has them."""
    out = ["- Measured: the mean over the seeds with its 95 % interval (Student's t).",
           "- Confirmed: the whole interval is within what is accepted. Differs: all of it is "
           "outside. Not decidable: it lies across a bound, or cells are lacking, or two versions "
           "of a module have run them.",
           "- Accepted: what was in the repository at the commit that made the runs, which a test "
           "compares with the history."]
    if any(claim.seen for claim in one.claims):
        out.append(f"- {SEEN.strip()}: some of its cells had run, at an earlier commit, when what "
                   "is accepted was set.")
    out += ["- Turned over by another discipline: with that one in its place, or so set, the claim "
            "would differ. By another load, TCP or figure: the same with that changed. Left open "
            "by: with this it would not be decidable.",
            "- Behind it: what was run for the verdict."]
    if any(_held_back(judged.cells) for judged in one.verdicts.values()):
        out[-1] += (" A receiver's window holds senders back where the sweep sets a small one, and "
                    "behind a hole in what has arrived, until that is mended.")
    if said := "; ".join(f"{', '.join(ids)} ({why})"
                         for why, ids in judgement.alone(one).items() if ids):
        out.append("- Turned over by no other discipline, of the confirmed, which may tell more of "
                   f"the load than of the discipline: {said}.")
    return out


def _table(one: Judgement) -> list[str]:
    """Of all claims, with a column for each era that has run."""
    eras = [era for era in one.eras if era.judged.made]
    says = one.paper.text.get("says", ("what the paper says, and where", "published"))
    heads = [*says, "accepted", "measured", "verdict",
             *(era.head for era in eras), "turned over by another discipline",
             "by another load, TCP or figure", "behind it"]
    out = [f"| | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for claim in one.claims:
        judged = one.verdicts[claim.id]
        out.append("| " + " | ".join(map(cell, (
            claim.id, f"{claim.says} *{claim.place}*", claim.published,
            claim.accepted() + SEEN * claim.seen,
            claim.shown(judged.value), f"**{judged.verdict}**",
            *(_in_short(claim, era.judged.verdicts[claim.id]) for era in eras),
            *judgement.turned(claim, judged, one.ablations[claim.id]), _behind(judged),
        ))) + " |")
    return out


def _differences(one: Judgement) -> list[str]:
    """For each claim that differs: what was changed, and what is known of the reason."""
    out = []
    for claim in one.claims:
        if one.verdicts[claim.id].verdict != DIFFERS:
            continue
        out += [f"**{claim.id}**, {cell(claim.place)}: "
                + (cell(claim.reason) or "the reason is not found yet."), ""]
        if tries := one.ablations[claim.id]:
            out += ["| changed | measured | that would be |", "|---|---|---|"]
            out += [f"| {cell(tried.change)} | {claim.shown(judged.value)} | "
                    f"{_said(judged, claim.varied(tried.by).least(one.paper.seeds))} |"
                    for tried, judged in tries]
            out.append("")
    return out


def _undecided(one: Judgement) -> list[str]:
    """For each claim that is not decidable: why, and what there is."""
    out = []
    for claim in one.claims:
        judged = one.verdicts[claim.id]
        if judged.verdict == UNDECIDED:
            have = (f" {claim.shown(judged.value)} with {many(judged.seeds, 'seed')}, accepted "
                    f"{claim.accepted()}." if judged.value else "")
            out.append(f"- **{claim.id}**: {judged.why_not}.{have} {cell(claim.reason)}".rstrip())
    return out


def _bounds(listed: Sequence[Claim]) -> list[str]:
    return [f"- {claim.id}: {claim.accepted()}{SEEN * claim.seen}. {cell(claim.why)}"
            for claim in listed]


def _made_with(made: Sequence[Row]) -> list[str]:
    """Commits, modules, kernels, compilers and tc, each with the number of runs."""
    def counted(values: Sequence[str]) -> str:
        return ", ".join(f"{value} ({count})" for value, count in sorted(Counter(values).items()))

    modules = [f"{name} {version}" for row in made
               for name, version in row["made"]["modules"].items() if version]
    return [f"- {what}: {counted(values)}" for what, values in (
        ("version", [row["made"]["version"] for row in made]), ("modules (srcversion)", modules),
        ("kernel, and the first half of its image's SHA-256",
         [row["made"]["kernel"] for row in made]),
        ("compiler", [row["made"]["compiler"] for row in made]),
        ("tc", [row["made"]["tc"] for row in made]),
    ) if values]


def _have(one: Judgement) -> str:
    paper = one.paper
    # With others = 0 there are no cells but those of all seeds.
    least = min(e.others or e.seeds for e in paper.experiments)
    most = max(map(len, paper.seeds.values()))
    seeds = f"{least} to {most}" if least < most else f"{most}"
    return (f"{len(one.made)} of {one.asked} cells ({seeds} seeds each), "
            f"{many(round(_minutes(one.made)), 'minute')} of one CPU.")


def _counts(one: Judgement) -> str:
    said = ", ".join(f"{count} {of}" for of, count in tally(one.verdicts.values()).items())
    return f"{said}. {_have(one)}"


def _state(one: Judgement) -> list[str]:
    out = [f"{len(one.claims)} claims: {_counts(one)}"]
    for era in one.eras:
        if not era.judged.made:
            out += ["", f"The same claims with {cell(era.about)}: nothing of it has run."]
            continue
        out += ["", f"The same claims with {cell(era.about)} (the column \"{era.head}\"): "
                    f"{_counts(era.judged)}"]
    for name, reason in one.paper.absent.items():
        out.append(f"Absent: {name}, {reason}.")
    return out


def _what_holds(one: Judgement, verdict: str, head: str) -> list[str]:
    """A line for each claim that got this verdict."""
    mine = [claim for claim in one.claims if one.verdicts[claim.id].verdict == verdict]
    return [f"## {head}", "",
            *(f"- {cell(claim.says)} Accepted: {claim.accepted()}; measured: "
              f"{claim.shown(one.verdicts[claim.id].value)} ({claim.id})." for claim in mine),
            *([] if mine else ["Nothing."]), ""]


def _one_page(one: Judgement, every: Sequence[Judgement], drawn: Mapping[str, str]) -> str:
    """Of a paper that asks questions: who is best, what was expected and does not hold, and what
    holds of the other papers with another TCP. drawn: heads of its figures, by their files."""
    paper = one.paper
    table, _ = then_and_now(every)
    counts = tally(one.verdicts.values())
    more = f"[{paper.claims_page}]({paper.claims_page})"
    out = [f"# {paper.text['title']}", "",
           f"On one page; {more} has all claims, what was tried on them, the figures' numbers, and "
           "what becomes of each claim of the papers.", "",
           paper.text["note"].strip(), "", *ranking.summary(paper, one.made),
           *(line for name, head in drawn.items() for line in (f"![{head}]({name})", "")),
           *_what_holds(one, DIFFERS, "What was expected and does not hold"),
           f"{many(counts[CONFIRMED], 'other')} of {len(one.claims)} claims hold, and "
           f"{counts[UNDECIDED]} are not decided: {more}.", "",
           "## What still holds of the papers", "",
           "Each claim is judged again by the same bounds, with another TCP and nothing else "
           "changed but whether ECN is on, or with senders that are paced, and windows and times "
           "where a paper's page says so; the pages have all figures.", "",
           *table]
    return "\n".join(out) + "\n"


def _figures(one: Judgement, over_time: Sequence[time_plots.Found]) -> tuple[dict[str, str],
                                                                          list[str]]:
    """The pictures by their files, and what a page says with them: Markdown."""
    paper, files, undrawn = one.paper, dict[str, str](), []
    out = ["## The figures", ""]
    for spec in paper.text.get("plot", ()):
        if drawn := paper_plots.plot(spec, paper, one.made, over_time):
            name = f"{paper.name}-{spec['name']}.svg"
            files[name] = drawn
            of_one_run = spec.get("kind") in {time_plots.KIND, "flows"}
            first = next(e.first for e in paper.experiments if e.name == spec["experiment"])
            runs = (f"One run each, with seed {first}." if of_one_run
                    else cell(paper.text["thinned"]))
            lacking = [trace.title for trace, line in over_time
                       if trace.figure == spec["name"] and not line]
            absent = f" Absent: {'; '.join(lacking)}." if lacking else ""
            out += [f"### {spec['head']}", "", f"![{spec['head']}]({name})", "",
                    f"{cell(spec.get('about', ''))} {runs}{absent}".strip(), "",
                    *paper_plots.numbers(spec, paper, one.made)]
        else:
            undrawn.append(spec["head"])
    if undrawn:
        out += ["Not drawn, for no run of it is kept yet:", "",
                *(f"- {head}" for head in undrawn), ""]
    if left := paper.text.get("undrawn"):
        out += [cell(left), ""]
    return files, out


def page(one: Judgement, every: Sequence[Judgement]) -> dict[str, str]:
    """The files of a paper below docs/results, by name: the page, or of one that asks questions
    that and the page of its claims, and its pictures. every: of all papers, in their own eras."""
    paper, text = one.paper, one.paper.text
    over_time = time_plots.found(paper)
    files, pictures = _figures(one, over_time)
    out = [f"# {text['title']}{': the claims' * paper.asks}", "",
           f"Made by `make ledger` from `netns-scenarios/papers/{paper.name}`, by `make "
           f"paper-{paper.name}`, which runs what is missing.", "",
           *_state(one), "", text["note"].strip(), "",
           "## The claims", "",
           *_legend(one), "", *_table(one), ""]
    if differing := _differences(one):
        out += ["## Where it differs", "", *differing]
    if undecided := _undecided(one):
        out += ["## Where it is not decidable", "", *undecided, ""]
    out += [*pictures, "## Why these bounds", "", *_bounds(one.claims), ""]
    if paper.asks:
        _, lists = then_and_now(every)
        out += [*_what_holds(one, CONFIRMED, "What holds"),
                "## What becomes of the papers' claims", "",
                "Then: the paper's own TCP, as near as Linux comes; of this page, CUBIC that is "
                "not paced.", "", *lists]
    out += [f"## What the cells{' and the figures over time' * bool(over_time)} were made with", "",
            *_made_with([*one.made, *(row for era in one.eras for row in era.judged.made),
                         *time_plots.runs(over_time)]), "",
            "Each row of `results.parquet` and `traces.parquet` has the command that makes its run "
            "again, to the byte, and the digest to compare."]
    if paper.asks:
        heads = {f"{paper.name}-{spec['name']}.svg": spec["head"] for spec in text["plot"]}
        files[f"{paper.name}.md"] = _one_page(
            one, every, {name: head for name, head in heads.items() if name in files})
    files[paper.claims_page] = "\n".join(out) + "\n"
    return files


def _cost(one: Judgement) -> str:
    """Of 10 000 cells like those of a paper that have run: a line of a table."""
    paper = one.paper
    if not one.made:
        return f"| {paper.name} | none has run | | | |"
    each = 60 * _minutes(one.made) / len({row["cell"] for row in one.made})
    alone, job = (10_000 * (each + more) / 3600 for more in (SETUP_S, SETUP_S + JOB_S))
    return (f"| {paper.name} ({paper.text.get('like', '')}) | {each:.1f} | {alone:.1f} | {job:.1f} "
            f"| {60 * job / CPUS:.0f} min |")


def index(every: Sequence[Judgement]) -> str:
    """docs/results/README.md; every: of all papers."""
    out = ["# The papers, replayed", "",
           "What the papers behind these disciplines claim, beside what we measure on the real "
           "kernel: one page for each paper, with its figures and a verdict for each claim.", "",
           "| paper | claims | confirmed | differ | not decidable | without all cells | cells | of "
           "| CPU min |", "|---" * 9 + "|"]
    for one in every:
        paper = one.paper
        short = sum(one.verdicts[claim.id].seeds < claim.least(paper.seeds) for claim in one.claims)
        out.append(f"| [{cell(paper.text['title'])}]({paper.name}.md) | {len(one.claims)} | "
                   + " | ".join(map(str, tally(one.verdicts.values()).values()))
                   + f" | {short} | {len(one.made)} | {one.asked} | {_minutes(one.made):.0f} |")
    out += ["", "Not decidable: fewer than three seeds have all its cells, the 95 % interval lies "
            "across a bound, there is no ratio, for a seed has 0, or two versions of a module have "
            "run its cells. `make paper-NAME` runs what "
            "is absent; how a claim is written and judged is in [scenarios.md](../scenarios.md). "
            "What becomes of the claims with the TCP of today, and which discipline to take "
            "where, is in [today.md](today.md).",
            "", "## What 10 000 cells cost", "",
            "CPU hours, from the CPU seconds of the rows, of the papers' own TCP; to them come, "
            f"for each cell, {SETUP_S} s for the run's own set-up and figures, and on a cluster "
            f"{JOB_S} s more ([cluster.md](../cluster.md)).", "",
            "| 10 000 cells like those of | CPU s a cell | one machine, CPU h | Slurm, CPU h | on "
            f"{CPUS} CPUs |", "|---" * 5 + "|", *map(_cost, every)]
    return "\n".join(out) + "\n"


def then_and_now(every: Sequence[Judgement]) -> tuple[list[str], list[str]]:
    """What still holds of the papers' claims in other eras, and what does not: a table of how many,
    and lists of which."""
    table = ["| paper | TCP | " + " | ".join(fate for *_, fate in FATES)
             + " | not decided in one of them |", "|---" * (3 + len(FATES)) + "|"]
    lists: list[str] = []
    for one in every:
        paper = one.paper
        for era in one.eras:
            if not era.judged.made:
                table.append(f"| [{paper.name}]({paper.claims_page}) | {era.head} | "
                             + "has not run" + " | " * len(FATES) + " |")
                continue
            fates = judgement.then_and_now(one, era.judged)
            decided = sum(map(len, fates.values()))
            table.append(f"| [{paper.name}]({paper.claims_page}) | {era.head} | "
                         + " | ".join(str(len(found)) for found in fates.values())
                         + f" | {len(one.claims) - decided} |")
            if not decided:
                continue
            lists += [f"### {paper.name}, {era.head}", "", f"With {cell(era.about)}.", "",
                      f"| | what the paper says | accepted | then | {era.head} | |",
                      "|---" * 6 + "|"]
            lists += ["| " + " | ".join(map(cell, (
                c.id, c.says, c.accepted(), c.shown(one.verdicts[c.id].value),
                c.shown(era.judged.verdicts[c.id].value), fate))) + " |"
                for *_, fate in FATES[:-1] for c in fates[fate]]
            lists.append("")
    return table, lists
