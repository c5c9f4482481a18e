# SPDX-License-Identifier: GPL-2.0
"""Draw reports of made-up runs, and read the HTML."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from aqmlab.exceptions import UserError
from aqmlab.measure import logs, result
from aqmlab.report import cards, columns, comparison, html_report, intervals, load_runs
from aqmlab.run.execute import Cost
from replay import run_cells
from tests.scenarios import handmade


@dataclass
class Page(HTMLParser):
    """A report, read back.

    rows: texts of cells; texts: by tag; classes: of a cell, by its row and column
    """

    rows: list[list[str]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    classes: dict[tuple[int, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:  # noqa: D105
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "meta":
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            if found := dict(attrs).get("class"):
                self.classes[len(self.rows) - 1, len(self.rows[-1]) - 1] = found
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def change(run: Path, **changes: Any) -> Path:
    """Change run.json, and compute result.json again."""
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | changes))
    result.write(run, Cost(1.0, 0.5))
    return run


def make_run(place: Path, **changes: Any) -> Path:
    """Write handmade's run with changes of run.json."""
    place.mkdir(parents=True)
    return change(handmade.write(place), **changes)


def make(directory: Path, settings: dict[tuple[str, int], float]) -> None:
    """Write a sweep with a run for each (name, buffer).

    settings: factor to the bytes that flow 1 receives
    """
    labels = {}
    for (name, buffer), factor in settings.items():
        place = directory / f"{name}-{buffer}"
        place.mkdir(parents=True)
        handmade.write(place)
        rows = (place / "progress.csv").read_text().splitlines()
        scaled = [
            f"{at},{flow},{float(count) * (factor if flow == '1' else 1):.0f}"
            for at, flow, count in (row.split(",") for row in rows[1:])
        ]
        (place / "progress.csv").write_text("\n".join([rows[0], *scaled]) + "\n")
        result.write(place, Cost(1.0, 0.5))
        labels[place.name] = {"name": name, "buffer": buffer, "words": []}
    (directory / "sweep.json").write_text(json.dumps({"runs": labels}))


def render(tmp_path: Path, settings: dict[tuple[str, int], float]) -> Page:
    make(tmp_path / "runs", settings)
    return read_back(tmp_path / "runs")


def read_back(*directories: Path) -> Page:
    out = directories[0].parent / "report.html"
    assert html_report.main([*map(str, directories), "--out", str(out)]) == 0
    page = Page()
    page.feed(out.read_text())
    page.close()
    assert page.open == []
    return page


COLUMNS = [
    column.title
    for column in columns.COLUMNS
    if "probe" not in column.title and "request" not in column.title
]


def rows_of(page: Page) -> list[list[str]]:
    """Return the rows of the tables of disciplines, with a mean in front of its interval."""
    return [row for row in page.rows if row[0] and len(row) == 1 + len(COLUMNS)]


def verdicts_of(page: Page) -> dict[str, dict[str, str]]:
    """Return the verdicts in a table of disciplines by the titles of columns."""
    found: dict[str, dict[str, str]] = {}
    for (row, column), word in page.classes.items():
        if len(page.rows[row]) == 1 + len(COLUMNS):
            found.setdefault(COLUMNS[column - 1], {})[page.rows[row][0]] = word
    return found


def test_two_kinds_at_two_buffers(tmp_path: Path) -> None:
    page = render(
        tmp_path, {("fair", 2): 2.5, ("fair", 4): 2.5, ("plain", 2): 1.0, ("plain", 4): 0.5}
    )
    # Flow 0 gets 200 kb/s; flow 1 gets 80 kb/s times the factor; the fair share is 250 kb/s.
    assert [(row[0], row[3]) for row in rows_of(page)] == [
        ("fair", "0.0"),
        ("plain", "24.0"),
        ("fair", "0.0"),
        ("plain", "32.0"),
    ]
    assert [text for text in page.texts["h2"] if text.startswith("Buffer")] == [
        "Buffer 2 packets",
        "Buffer 4 packets",
    ]


def make_seeds(directory: Path, backlogs: dict[str, tuple[float, ...]]) -> load_runs.Section:
    """Return a section with runs of several disciplines and seeds.

    backlogs: for each discipline a factor per seed. The queue delay is handmade's (p50 20 ms,
        p99 39.6 ms) times this factor
    """
    for name, factors in backlogs.items():
        for seed, factor in enumerate(factors, 1):
            place = make_run(directory / f"{name}-{seed}")
            head, *rows = (place / "queue.csv").read_text().splitlines()
            at = head.split(",").index("bytes")
            cells = [row.split(",") for row in rows]
            lines = [",".join([*c[:at], f"{factor * float(c[at]):g}", *c[at + 1 :]]) for c in cells]
            (place / "queue.csv").write_text("\n".join([head, *lines]) + "\n")
            change(place, qdisc=name, seed=seed)
    (section,) = load_runs.collect([directory])
    return section


# Medians of the backlog of 20, 40, 60 ms, and a tenth more under each seed.
APART = {"one": (1.0, 2.0, 3.0), "two": (1.1, 2.2, 3.3)}


def test_interval_is_above_zero_and_its_means_are_in_the_table(tmp_path: Path) -> None:
    """Student's t for 2 degrees of freedom is 4.302653, the sd 20 ms, the half-width 49.68 ms."""
    make_seeds(tmp_path, APART)
    (one, two) = rows_of(read_back(tmp_path))
    low, high = (40 * math.exp(sign * 49.683 / 40) for sign in (-1, 1))
    assert one[5] == f"40.00 {low:.2f} to {high:.2f}"
    assert two[5].startswith("44.00 ")


@pytest.mark.parametrize(
    ("value", "half", "top", "ends"),
    [
        (0.0, 0.0, math.inf, (0.0, 0.0)),
        # Utilization of 99 % in the mean, of seeds that differ by more than 1 %.
        (0.99, 0.02, 1.0, (0.99 * math.exp(-0.02 / 0.99), 1.0)),
        (2.2, 4.1, math.inf, (2.2 * math.exp(-4.1 / 2.2), 2.2 * math.exp(4.1 / 2.2))),
    ],
)
def test_interval_stays_within_what_is_possible(
    value: float, half: float, top: float, ends: tuple[float, float]
) -> None:
    assert intervals.Mean(value, half).interval(top) == pytest.approx(ends)


def rows_with(**values: Sequence[float]) -> list[columns.DisciplineRow]:
    """Return rows of disciplines with these deviations, in parts of the fair share, by seed."""
    return [
        columns.DisciplineRow(
            name,
            None,
            [
                {
                    "seed": seed,
                    "groups": {},
                    "parameters": {"mtu": 1500, "rate": 10.0},
                    "summary": {"sd_over_fair_share": value},
                }
                for seed, value in enumerate(several, 1)
            ],
        )
        for name, several in values.items()
    ]


def words(rows: Sequence[columns.DisciplineRow]) -> dict[str, str]:
    return comparison.verdicts(comparison.candidates(rows, columns.column_of("sd")))


def test_verdicts_are_taken_seed_by_seed() -> None:
    """Seeds differ by far more than disciplines; each is worse than the best under every seed."""
    assert words(
        rows_with(
            half=(0.8, 1.6, 2.4),
            best=(0.2, 0.4, 0.6),
            worse=(0.26, 0.52, 0.78),
            tie=(0.202, 0.404, 0.606),
            either=(0.1, 0.6, 0.8),
        )
    ) == {"best": "best", "tie": "tie", "worse": "worse", "half": "avoid", "either": "inconclusive"}


@pytest.mark.parametrize(
    "values",
    [
        # The same values; a difference below the floor of 1 %; one seed.
        {"one": (0.2, 0.3), "two": (0.2, 0.3)},
        {"one": (0.001, 0.001), "two": (0.008, 0.008)},
        {"one": (0.1,), "two": (0.9,)},
    ],
)
def test_nothing_is_best_unless_something_is_worse(values: dict[str, tuple[float, ...]]) -> None:
    assert set(words(rows_with(**values)).values()) <= {"tie", "inconclusive"}


def test_seeds_that_only_one_discipline_has_do_not_count() -> None:
    rows = rows_with(one=(0.1, 0.1), two=(0.9, 0.9))
    rows[1].results[1]["seed"] = 3
    assert set(words(rows).values()) == {"tie", "inconclusive"}


def test_single_discipline_has_no_verdict(tmp_path: Path) -> None:
    make_run(tmp_path / "one")
    page = read_back(tmp_path)
    assert verdicts_of(page) == {}
    assert "article" not in page.texts


def test_cells_have_verdicts_and_the_card_names_the_disciplines(tmp_path: Path) -> None:
    """Three seeds with equal goodputs of two disciplines, and a third with 32 instead of 0 % of
    deviation; flow 1 gets 80 kb/s times the number, and the fair share is 250."""
    for seed in (1, 2, 3):
        make(tmp_path / str(seed), {("fair", 4): 2.5, ("same", 4): 2.5, ("plain", 4): 0.5})
        for name in ("fair", "same", "plain"):
            change(tmp_path / str(seed) / f"{name}-4", seed=seed, qdisc=name)
    page = read_back(tmp_path)
    found = verdicts_of(page)
    assert found["sd / fair share, %"] == {"fair": "best", "same": "tie", "plain": "avoid"}
    # Nobody is worse than another at these.
    assert found["utilization, %"] == {"fair": "tie", "same": "tie", "plain": "tie"}
    assert "dropped, packets" not in found
    (card,) = page.texts["article"]
    said = " ".join(card.split())
    assert "Bestfair 0.0 % As good: less than 5 % worsesame 0.0 %" in said
    assert "Avoid: at most half as goodplain 32.0 %" in said


def test_summary_names_the_disciplines_that_are_good_in_most_workloads() -> None:
    def card_of(best: str, *ties: str) -> cards.Card:
        named = [cards.Named(name, "", "") for name in (best, *ties)]
        return cards.Card(columns.column_of("sd"), named[:1], named[1:], [], [], [], [], seeds=3)

    assert cards.summary([card_of("a"), card_of("b", "a"), card_of("c")]) == (
        "No discipline is best everywhere. In 2 of 3 workloads a is best, or as good as the best."
    )
    assert cards.summary([card_of("a", "b"), card_of("b", "a")]) == (
        "In all workloads a and b are best, or as good as the best."
    )
    assert cards.summary([card_of("a")]) == ""


def groups_of(**more: dict[str, Any]) -> dict[str, Any]:
    bulk = {"flows": 2, "completion_s": None, "delay_ms": None}
    delays = {"p50": 1.0, "p99": 2.0}
    return {"all": bulk, "probe": bulk | {"delay_ms": delays, "loss": 0.0}} | {
        name: bulk | group for name, group in more.items()
    }


@pytest.mark.parametrize(
    ("more", "phases", "metric"),
    [
        ({}, 1, "sd"),
        ({}, 2, "probe delay p99"),
        ({"blast": {"delay_ms": {"p50": 1.0}}}, 2, "goodput"),
        (
            {
                "cbr": {"delay_ms": {"p50": 1.0}},
                "web": {"completion_s": {"mean": 1.0, "completed": 5}},
            },
            1,
            "request mean",
        ),
    ],
)
def test_traffic_of_a_workload_decides_which_metric_its_card_has(
    more: dict[str, Any], phases: int, metric: str
) -> None:
    made = [
        {
            "seed": seed,
            "groups": groups_of(**more),
            "phases": [{}] * phases,
            "parameters": {"mtu": 1500, "rate": 10.0},
            "summary": {
                "goodput_bps": {"mean": 1.0},
                "fair_share_bps": 1.0,
                "sd_over_fair_share": 0.1,
                "utilization": 1.0,
            },
        }
        for seed in (1, 2)
    ]
    answer = cards.card(
        load_runs.Section(
            None, {name: [load_runs.Run(Path(), one) for one in made] for name in ("one", "two")}
        )
    )
    assert answer
    assert answer.column.title.startswith(metric)
    assert answer.as_good == {"one", "two"}


def test_a_mean_that_is_worse_than_that_of_a_discipline_to_avoid_has_a_reason() -> None:
    """`either` varies from 1.1 to 6 times the best and is undecided; `twice` never varies."""
    values = {"best": (0.1, 0.1, 0.1), "twice": (0.21, 0.21, 0.21), "either": (0.11, 0.1, 0.6)}
    answer = cards.card(
        load_runs.Section(
            None,
            {
                name: [
                    load_runs.Run(
                        Path(),
                        {
                            "seed": seed,
                            "phases": [{}],
                            "parameters": {"mtu": 1500, "rate": 10.0},
                            "groups": {},
                            "summary": {
                                "goodput_bps": None,
                                "fair_share_bps": 1.0,
                                "sd_over_fair_share": value,
                            },
                        },
                    )
                    for seed, value in enumerate(several, 1)
                ]
                for name, several in values.items()
            },
        )
    )
    assert answer
    assert cards.text(answer).splitlines()[1:] == [
        "  best: best 10.0",
        "  undecided: either 27.0 (the seeds differ: 10.0 to 60.0)",
        "  at most half as good: twice 21.0",
    ]


def test_plots_show_fq_codel_the_first_discipline_and_the_best_at_first() -> None:
    rows = {"first": 0.2, "other": 0.3, "good": 0.1, "fq_codel limit 9": 0.4, "bad": 0.5}
    (section,) = [
        load_runs.Section(
            None,
            {
                name: [
                    load_runs.Run(
                        Path(),
                        {
                            "seed": seed,
                            "phases": [{}],
                            "parameters": {"mtu": 1500, "rate": 10.0},
                            "groups": {},
                            "summary": {
                                "goodput_bps": None,
                                "fair_share_bps": 1.0,
                                "sd_over_fair_share": value,
                            },
                        },
                    )
                    for seed in (1, 2)
                ]
                for name, value in rows.items()
            },
        )
    ]
    assert cards.of_interest([section]) == ["fq_codel limit 9", "first", "good"]


def test_discipline_without_goodput_is_never_the_best() -> None:
    """It has the shortest delay, because it drops almost everything."""

    def section(goodput: float) -> load_runs.Section:
        return load_runs.Section(
            None,
            {
                name: [
                    load_runs.Run(
                        Path(),
                        {
                            "seed": seed,
                            "phases": [{}, {}],
                            "parameters": {"mtu": 1500, "rate": 10.0},
                            "groups": {"probe": {"delay_ms": {"p99": delay}, "loss": 0.0}},
                            "summary": {"goodput_bps": {"mean": part}, "fair_share_bps": 1.0},
                        },
                    )
                    for seed in (1, 2, 3)
                ]
                for name, delay, part in (("drops", 1.0, goodput), ("sends", 50.0, 1.0))
            },
        )

    collapsed, fine = cards.card(section(0.3)), cards.card(section(0.9))
    assert collapsed
    assert fine
    assert [one.name for one in collapsed.best] == ["sends"]
    assert [one.name for one in collapsed.starving] == ["drops"]
    assert not collapsed.avoid
    assert cards.text(collapsed).count("at most half of the best goodput") == 1
    assert [one.name for one in fine.best] == ["drops"]


def test_unknown_metric_has_no_column(tmp_path: Path) -> None:
    """Two runs without bulk TCP have no goodputs to compare."""
    facts = copy.deepcopy(handmade.RUN["facts"]) | {"fair_share_bps": 0.0}
    for group in facts["groups"].values():
        group |= {"elastic": False, "fair_share_bps": 0.0}
    for name in ("one", "two"):
        make_run(tmp_path / name, qdisc=name, facts=facts)
    page = read_back(tmp_path)
    assert [row for row in page.rows if row[:1] in (["one"], ["two"])][:2] == [
        [name, "80.0", "20.00", "39.60", "5"] for name in ("one", "two")
    ]


def test_runs_with_different_settings_are_not_seeds_of_one_row(tmp_path: Path) -> None:
    """Two runs in a sweep may have the same name. Here the runs are given, not their sweep."""
    make(tmp_path, {("red", 100): 1.0, ("other", 100): 1.0})
    path = tmp_path / "sweep.json"
    path.write_text(path.read_text().replace('"name": "other"', '"name": "red"'))
    change(tmp_path / "other-100", seed=2)
    given = [tmp_path / "red-100", tmp_path / "other-100"]
    (section,) = load_runs.collect(given)
    assert [(name, len(several)) for name, several in section.runs.items()] == [("red", 2)]
    assert section.buffer == 100
    told = tmp_path / "other-100" / "result.json"
    told.write_text(told.read_text().replace('"red limit 300000 ecn"', '"red limit 9 ecn"'))
    (section,) = load_runs.collect(given)
    assert [(name, len(several)) for name, several in section.runs.items()] == [
        ("red", 1),
        ("red limit 9 ecn", 1),
    ]


def test_runs_on_two_kernels_share_a_table_only_if_the_kernels_are_compared(tmp_path: Path) -> None:
    make(tmp_path, {("old", 100): 1.0, ("new", 100): 1.0})
    told = tmp_path / "new-100" / "result.json"
    told.write_text(told.read_text().replace('"kernel": "7.3"', '"kernel": "9.9"'))
    assert [[*section.runs] for section in load_runs.collect([tmp_path])] == [["old"], ["new"]]
    sweep = tmp_path / "sweep.json"
    stored = json.loads(sweep.read_text())
    for label in stored["runs"].values():
        label["varied"] = ["kernel"]
    sweep.write_text(json.dumps(stored))
    assert [[*section.runs] for section in load_runs.collect([tmp_path])] == [["old", "new"]]


def seeds(*given: Path) -> list[list[int]]:
    """Return the seeds of each discipline of each section."""
    return [
        [run.result["seed"] for run in several]
        for section in load_runs.collect(given)
        for several in section.runs.values()
    ]


def test_run_given_twice_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given directly, with its sweep, by a link and by another path."""
    run, _ = (make_run(tmp_path / "runs" / str(seed), seed=seed) for seed in (1, 2))
    (tmp_path / "link").symlink_to(run)
    monkeypatch.chdir(tmp_path)
    for more in (run, tmp_path / "link", tmp_path / "runs" / "2" / ".." / "1", Path("runs/1")):
        assert seeds(tmp_path / "runs", more) == [[1, 2]]
        assert seeds(more, tmp_path / "runs") == [[1, 2]]


def test_seed_that_ran_twice_counts_once(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("again", 1), ("b", 2)):
        make_run(tmp_path / name, seed=seed)
    assert seeds(tmp_path) == [[1, 2]]


@pytest.mark.parametrize("option", ["--out", "--figure"])
def test_a_report_that_cannot_be_written_is_named(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path / "run")
    out = tmp_path / "missing" / "report.svg"
    assert html_report.main([str(tmp_path), option, str(out)]) == 2
    assert f"report: {out}: No such file or directory" in capsys.readouterr().err


def test_seed_with_two_digests_is_refused_and_both_runs_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two versions of a module cause this."""
    for name in ("old", "new"):
        make_run(tmp_path / name)
    ends = tmp_path / "new" / "flows.csv"
    ends.write_text(ends.read_text().replace("bulk,0,3,110000", "bulk,0,3,110001"))
    change(tmp_path / "new")
    assert html_report.main([str(tmp_path), "--out", str(tmp_path / "x.html")]) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path / 'new'} and {tmp_path / 'old'} have one setting and seed" in said
    assert "compare --base DIR" in said
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize(
    ("text", "said"), [("{", "is damaged"), ("[]", "holds no result"), ("{}", "it has no scenario")]
)
def test_damaged_results_are_named(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path / "whole")
    change(tmp_path / "whole")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "result.json").write_text(text)
    assert html_report.main([str(tmp_path), "--out", str(tmp_path / "x.html")]) == 0
    assert said in capsys.readouterr().err
    (tmp_path / "sweep.json").write_text(text[:1])
    assert html_report.main([str(tmp_path), "--out", str(tmp_path / "x.html")]) == 2
    assert "sweep.json is damaged, so remove it" in capsys.readouterr().err


def test_error_in_the_report_ends_a_quick_look_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: Any) -> None:
        raise UserError("a and b have not one digest")

    monkeypatch.setattr(run_cells, "_replay", refused)
    assert run_cells.main(["today", "--quick"]) == 1
    assert capsys.readouterr().err == "paper: a and b have not one digest\n"


@pytest.mark.parametrize("out", [["--out", "some where"], ["--out=x"], ["--ou", "x"], []])
def test_command_in_the_report_repeats_the_run(tmp_path: Path, out: list[str]) -> None:
    """It has all arguments of the run, except for the directory."""
    words = [
        "dumbbell",
        "--qdisc",
        "pfifo limit 9",
        "--set",
        "rate=12.3456789",
        "--clock",
        "wall",
        *out,
        "--kernel",
        "6.12",
        "--flavour",
        "kasan",
        "--seed",
        "7",
    ]
    make_run(
        tmp_path / "run",
        seed=7,
        qdisc="pfifo limit 9",
        made_with={**handmade.RUN["made_with"], "argv": ["/else/where/run", *words]},
    )
    (code,) = read_back(tmp_path / "run").texts["code"]
    assert code.splitlines()[0] == (
        "netns-scenarios/run dumbbell --qdisc 'pfifo limit 9' --set rate=12.3456789 --clock wall "
        "--kernel 6.12 --flavour kasan --seed 7"
    )


def test_logs_of_a_run_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_seeds(tmp_path, APART)
    given: list[str] = []
    read = logs.read

    def counted(directory: Path) -> logs.Logs:
        given.append(directory.name)
        return read(directory)

    monkeypatch.setattr(logs, "read", counted)
    read_back(tmp_path)
    assert sorted(given) == ["one-1", "one-2", "one-3", "two-1", "two-2", "two-3"]


def test_sections_with_equal_buffers_are_named_by_their_settings(tmp_path: Path) -> None:
    make(tmp_path, {("red", 100): 1.0, ("other", 100): 1.0, ("red", 200): 1.0})
    path = tmp_path / "other-100" / "result.json"
    path.write_text(path.read_text().replace('"rtt": 40', '"rtt": 41'))
    heads = [text for text in read_back(tmp_path).texts["h2"] if "uffer" in text]
    assert heads[2] == "Buffer 200 packets"
    assert [re.findall(r"rtt=\d+", head) for head in heads[:2]] == [["rtt=40"], ["rtt=41"]]
    assert all(head.startswith("Buffer 100 packets, ") for head in heads[:2])


def test_single_runs_of_several_settings(tmp_path: Path) -> None:
    """The seeds of a discipline form a row, and the disciplines of a setting form a section."""
    for place, changes in (
        ("a", {"seed": 2}),
        ("b", {"seed": 1}),
        ("c", {"qdisc": "pfifo limit 9"}),
        ("deep/d", {"scenario": "multi-rtt"}),
    ):
        make_run(tmp_path / place, **changes)
    page = read_back(tmp_path / "a", tmp_path / "b", tmp_path / "c", tmp_path / "deep")
    assert [row[0] for row in rows_of(page)] == [
        "red limit 300000 ecn",
        "pfifo limit 9",
        "red limit 300000 ecn",
    ]
    # two equal seeds have an interval of width 0; one seed has no interval
    assert [" to " in row[1] for row in rows_of(page)] == [True, False, False]
    assert [text.split(",")[0] for text in page.texts["h2"][1:3]] == ["dumbbell", "multi-rtt"]
    groups = [row for row in page.rows if row[1:2] in (["near"], ["far"])]
    assert len(groups) == 6
    # near: 200 of 250 kb/s
    assert "80.0" in groups[0][4]


def test_missing_and_incomplete_runs_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert html_report.main([str(tmp_path)]) == 2
    assert "no result.json here or below" in capsys.readouterr().err
    half = tmp_path / "r.incomplete"
    make_run(half)
    assert html_report.main([str(tmp_path), "--out", str(tmp_path / "x.html")]) == 2
    assert f"{half} is incomplete" in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()


def test_failed_runs_among_others_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("good", "half.incomplete"):
        make_run(tmp_path / name)
    (tmp_path / "empty").mkdir()
    page = read_back(*sorted(tmp_path.iterdir()))
    assert len(rows_of(page)) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"left out: {tmp_path / 'empty'}: no result.json here or below",
        f"left out: {tmp_path / 'half.incomplete'} is incomplete: its run was interrupted, failed, "
        "or still runs",
    ]
