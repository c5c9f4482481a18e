# SPDX-License-Identifier: GPL-2.0
"""Models of pages, and docs/results, which must follow from rows, claims and templates."""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path

import pytest

from aqmlab.measure import derived_metrics
from aqmlab.run.execute import EDITION
from replay import calibration, judgement, ledger, markdown, pages, paper, run_cells
from replay.paper import Paper
from tests.scenarios.paper_by_hand import CLAIMS, rewrite, run

LINES = 200


@functools.cache
def models() -> list[pages.PageModel]:
    return ledger.models()


def test_docs_results_is_up_to_date() -> None:
    assert ledger.stale(ledger.RESULTS, ledger.files(models())) == []


def test_findings_have_the_numbers_of_the_rows() -> None:
    """docs/findings.md is written by hand. Its table on small buffers has the rows of 256 flows."""
    text = (paper.ROOT / "docs" / "findings.md").read_text()
    section = text.partition("## With less than one packet")[2].partition("\n## ")[0]
    table = re.findall(r"^\| `(\w+)` \| (\d+) \|", section, re.M)
    (one,) = (one for one in models() if one.name == "buffers")
    assert len(table) >= 5
    for name, number in table:
        assert number == one.number(
            "share", name, "summary.sd_over_fair_share", scale=100, flows=256, per_flow=0.25
        ), name


def five(path: Path) -> list[str]:
    """Return the first five numbered sentences of a page, without the targets of links."""
    lines = re.findall(r"^[1-5]\. (\*\*.*)$", path.read_text(), re.M)[:5]
    return [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"[\1]", line) for line in lines]


@pytest.mark.parametrize("name", ["README.md", "docs/findings.md"])
def test_pages_by_hand_open_with_the_five_sentences_of_the_rows(name: str) -> None:
    """docs/results/README.md is generated. Each sentence has a link to its evidence."""
    generated = five(ledger.RESULTS / "README.md")
    assert len(generated) == 5
    assert all("([" in line for line in generated)
    assert five(paper.ROOT / name) == generated


def test_caption_in_readme_has_the_patched_fq_codel_of_the_rows() -> None:
    caption = (paper.ROOT / "README.md").read_text().partition("## Try it")[0]
    (found,) = re.findall(r"has (\d+) % at a quarter of a packet", caption.replace("\n", " "))
    (one,) = (one for one in models() if one.name == "buffers")
    assert found == one.number(
        "tie", "fq_codel-tie", "summary.sd_over_fair_share", scale=100, flows=256, per_flow=0.25
    )


def test_pages_that_state_equal_shares_state_the_price() -> None:
    for name in (
        "README.md",
        "docs/findings.md",
        "docs/buffers-paper.md",
        "docs/results/README.md",
        "docs/results/buffers.md",
    ):
        assert "buffers-price.md" in (paper.ROOT / name).read_text(), name


def test_the_advice_on_small_buffers_has_a_limit() -> None:
    """Below 10 ms the default memory of tdrr has many timeouts."""
    advice = (paper.ROOT / "README.md").read_text().partition("## Which discipline to use")[2]
    (row,) = re.findall(r"^\| equal shares .* less than one packet .*`tdrr`.*$", advice, re.M)
    assert "with `follow_rtt` if round-trip times may be below 10 ms" in row


def test_the_draft_names_the_related_work() -> None:
    draft = (paper.ROOT / "docs" / "buffers-paper.md").read_text()
    work = draft.partition("## 2 Related work")[2].partition("\n## ")[0]
    for name in ("Morris", "Enachescu", "FairDrop", "CSFQ", "RED-PD", "pull request 11"):
        assert name in work, name
    assert "We found no study of fair queueing with fewer packets than flows" in work


def test_the_price_in_prose_is_that_of_the_rows() -> None:
    """At 3 ms TDRR has the most timeouts. In a minute all but fq_codel halve their deviation."""
    (one,) = (one for one in models() if one.name == "buffers")
    for flows in (64, 256):
        timeouts = {
            name: float(one.number("near", name, "timeouts", rtt=3, flows=flows, per_flow=0.25))
            for name in ("tdrr", "sfq", "cake", "fq_codel", "fq", "pfifo")
        }
        assert max(timeouts, key=timeouts.__getitem__) == "tdrr"
    for name in ("sfq", "cake", "pfifo", "fq_codel"):
        short, long = (
            float(
                one.number(
                    experiment,
                    name,
                    "summary.sd_over_fair_share",
                    digits=4,
                    flows=256,
                    per_flow=0.25,
                )
            )
            for experiment in ("share", "minute")
        )
        assert (long < short / 2) == (name != "fq_codel"), name


def section(head: str) -> str:
    """Return the section of docs/findings.md with this in its title."""
    text = (paper.ROOT / "docs" / "findings.md").read_text()
    (found,) = (part for part in text.split("\n## ") if head in part.partition("\n")[0])
    return found


def test_findings_have_the_use_of_a_link_with_three_tcps() -> None:
    names = {
        "`pfifo`": "tail-drop",
        "`red`": "red",
        "`qsdrr nohysteresis` (plain DRR)": "drr",
        "`qsdrr`": "qsdrr",
    }
    table = re.findall(
        r"^\| (`.*?) \| (\d+) \| (\d+) \| (\d+) \|$", section("TCP is that of 1999"), re.M
    )
    assert {row[0] for row in table} == set(names)
    (own,) = (one for one in models() if one.name == "kantawala2001")
    (today,) = (
        pages.PageModel(one.judged)
        for one in own.judgement.profiles
        if one.judged.paper.profile == "today"
    )
    for name, *numbers in table:
        assert numbers == [
            one.number(experiment, names[name], "summary.utilization", scale=100, buffer=200)
            for one, experiment in ((own, "single-reno90"), (own, "single"), (today, "single"))
        ]


def test_findings_have_chokes_bounds_and_shares() -> None:
    """The bound for one draw is 1 / (1 + e)."""
    by_name = {one.name: one for one in models()}
    (paced,) = (
        pages.PageModel(one.judged)
        for one in by_name["today"].judgement.profiles
        if one.judged.paper.profile == "paced"
    )
    table = re.findall(
        r"^\| 32 .* \| (\d)(?: or more)? \| ([\d.]+) \| ([\d.]+) \|$", section("CBT and FRED"), re.M
    )
    reno = by_name["ahammed2010"].number(
        "theory", "choke-300", "udp:link_share", scale=100, digits=1, udp_rate=1.0
    )
    cubic = [
        one.number(
            "bully-many", name, "bully:link_share", scale=100, digits=1, bully="udp", buffer=165
        )
        for name in ("choke", "chokex")
        for one in (by_name["today"], paced)
    ]
    assert [share for *_, share in table] == [reno, *cubic]
    assert {bound for draws, bound, _ in table if draws == "1"} == {f"{100 / (1 + math.e):.1f}"}
    assert {bound for draws, bound, _ in table if draws == "2"} == {
        f"{100 * derived_metrics.choke_bound(2):.1f}"
    }


def test_each_page_is_short_and_has_few_pictures() -> None:
    for path in ledger.RESULTS.glob("*.md"):
        assert len(path.read_text().splitlines()) <= LINES, path.name
    for one in models():
        assert len(one.main_pictures) <= 4
        assert one.main_pictures or not one.judgement.rows


def test_each_claim_is_in_the_site_once_and_on_one_page() -> None:
    """A paper has its page in docs/results, and may have others in docs."""
    by_name = pages.site(models())
    for one in models():
        anchors = re.findall(r'<tr id="([^"]+)"', by_name[f"{one.name}.html"])
        assert anchors == list(one.every)
        files = [
            ledger.RESULTS / f"{one.name}.md",
            *sorted(ledger.RESULTS.parent.glob(f"{one.name}-*.md")),
        ]
        shown = [
            claim
            for file in files
            for claim in re.findall(r"^\| \*\*(\w+)\*\*", file.read_text(), re.M)
        ]
        if one.name != "today":
            expected = [each.claim.id for each in [*one.claims, *one.calibration]]
            assert sorted(shown) == sorted(expected)


def test_claims_on_tcp_alone_are_not_counted() -> None:
    """Only table I of jou2003 has no discipline. They compare two TCPs, so they show nothing about
    the instrument and are not on the calibration page."""
    assert "contradicted" not in (ledger.RESULTS / "calibration.md").read_text()
    counts = {one.name: len(one.calibration) for one in models()}
    assert counts.pop("jou2003") == 21
    assert not any(counts.values())


def test_obsolete_files_are_removed(tmp_path: Path) -> None:
    (tmp_path / "old.svg").write_text("")
    (tmp_path / "kept.txt").write_text("")
    made = {"README.md": "text"}
    assert ledger.stale(tmp_path, made) == ["README.md", "old.svg"]
    ledger.write(tmp_path, made)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "kept.txt"]
    assert ledger.stale(tmp_path, made) == []


def test_the_ledger_writes_what_its_check_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RESULTS", "SITE"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(ledger, name, tmp_path / name)
    monkeypatch.setattr(ledger, "models", list)
    monkeypatch.setattr(ledger, "files", lambda every: {"page.md": "a page"})
    monkeypatch.setattr(pages, "site", lambda every: {"index.html": "a site"})
    assert ledger.main(["--check"]) == 1
    assert ledger.main([]) == 0
    assert (tmp_path / "RESULTS" / "page.md").read_text() == "a page"
    assert (tmp_path / "SITE" / "index.html").read_text() == "a site"
    assert ledger.main(["--check"]) == 0


def model(one: Paper) -> pages.PageModel:
    return pages.PageModel(judgement.of(one))


def test_a_model_has_values_verdicts_and_costs(made_up: Paper) -> None:
    one = model(made_up)
    assert one.every["C1"].measured == "0.90 ±0.02"
    assert one.every["C1"].cost == "3 seeds, 3 cells, 0.3 CPU minutes"
    assert one.counts() == {
        "confirmed": 2,
        "better than published": 0,
        "contradicted": 0,
        "undetermined": 0,
        "not the paper's algorithm": 0,
        "inconclusive": 0,
    }
    # 6 s each, and 0.5 more: 65 000 s. As jobs 3.7 s more: 102 000 s.
    assert one.hours_of_10000 == pytest.approx((65_000 / 3600, 102_000 / 3600))


def test_the_verdict_says_what_keeps_a_claim_from_being_decided(made_up: Paper) -> None:
    rewrite(made_up, lambda row: None if row["discipline"] == "bad" else row)
    assert model(made_up).every["C2"].verdict == "inconclusive: absent"


def test_windows_that_hold_senders_back_are_reported_above_5_percent(made_up: Paper) -> None:
    def planted(row: dict) -> dict:
        (group,) = row["metrics"]["groups"].values()
        group["window_limited"] = {"good": 0.31, "bad": 0.04}.get(row["discipline"], 0)
        return row

    rewrite(made_up, planted)
    found = model(made_up)
    assert found.every["C1"].held_back == pytest.approx(31)
    (made_up.directory / "claims.toml").write_text(CLAIMS.replace('of = "good"', 'of = "bad"'))
    assert model(made_up).every["C1"].held_back == 0


def test_verdicts_with_two_tcps_are_counted(made_up: Paper) -> None:
    assert model(made_up).profiles == []
    run(paper.load("made-up", profile="today"), good=0.5, bad=0.3)
    one = model(made_up)
    assert one.profiles == ["now"]
    assert one.fates("now") == {("confirmed", "contradicted"): 1, ("confirmed", "confirmed"): 1}


def test_a_number_of_a_page_is_a_mean_of_rows_or_not_run(made_up: Paper) -> None:
    one = model(made_up)
    assert one.number("one", "good", "summary.utilization", scale=100, buffer=100) == "90"
    assert one.number("one", "good", "no.such.metric", buffer=100) == "*not run*"
    with pytest.raises(ValueError, match="one has no good at"):
        one.number("one", "good", "summary.utilization", buffer=101)


PAGE = """\
{% macro use(name) %}
{{- number("one", name, "summary.utilization", scale=100, buffer=100) }}{% endmacro %}
{% set points = model.points("summary.utilization", "good", ["bad"], ["one"]) %}
{% set ratios = points | map(attribute="ratio") | list %}
Good uses {{ use("good") }} %. Bad uses {{ use("bad") }} %,
the other one less. Good has {{ "%.1f" | format(ratios | median) }} times as much. Nobody has more.

| {{ use("good") }} |
| {{ "%.2f" | format((use("good") | float) / (use("bad") | float)) }} |
| {{ "%+.1f" | format(-100 * (points | map("over", "bad") | min)) }} |
"""


def test_a_page_without_some_rows_is_written_and_names_its_sentences(
    made_up: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """The command prints the verdicts that the other rows allow."""
    (made_up.directory / "page.md.j2").write_text(PAGE)
    monkeypatch.setattr(pages, "PAPERS", tmp_path)
    monkeypatch.setattr(ledger, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(ledger, "SITE", tmp_path / "site")
    monkeypatch.setattr(pages, "site", lambda every: {})
    monkeypatch.setattr(ledger, "files", lambda every: pages.page(every[0], every))
    asked = ["made-up", "--only", "other", "--tcp-profile", "own", "--out", str(tmp_path / "out")]
    assert run_cells.main(asked) == 0
    assert capsys.readouterr().err == ""
    whole = (tmp_path / "results" / "made-up.md").read_text()
    assert "Good has 3.0 times as much. Nobody" in whole
    assert "| 3.00 |\n| -60.0 |" in whole

    rewrite(made_up, lambda row: None if row["discipline"] == "bad" else row)
    assert run_cells.main(asked) == 0
    told = capsys.readouterr()
    assert [line.split() for line in told.out.splitlines()] == [
        ["C1", "0.90", "±0.02", "confirmed"]
    ]
    begin = "ledger: docs/results/made-up.md has no rows for: "
    assert told.err.splitlines() == [
        f"{begin}Bad uses *not run* %, the other one less.",
        f"{begin}Good has *not run* times as much.",
        f"{begin}| *not run* |",
        f"{begin}| *not run* |",
    ]
    assert "Good uses 90 %. Bad" in (tmp_path / "results" / "made-up.md").read_text()


def test_chokes_share_without_rows_is_not_a_number() -> None:
    lines = calibration.choke_lines(lambda *_, **__: markdown.NOT_RUN)
    assert all(math.isnan(line.measured) for line in lines)
    assert markdown.finished(f"{lines[0].measured:.1f} % of a financial link") == (
        "*not run* % of a financial link"
    )


def test_a_number_can_be_a_median(made_up: Paper) -> None:
    def planted(row: dict) -> dict:
        row["metrics"]["summary"]["utilization"] = {1: 0.1, 2: 0.9, 3: 0.8}[row["seed"]]
        return row

    rewrite(made_up, planted)
    shown = [
        model(made_up).number(
            "one", "good", "summary.utilization", scale=100, median=median, buffer=100
        )
        for median in (False, True)
    ]
    assert shown == ["60", "80"]


def test_a_number_with_its_interval_by_hand(made_up: Paper) -> None:
    """Of 70, 80 and 90 the sample deviation is 10. Student's t for two degrees of freedom is 4.303,
    so half of the interval is 4.303 * 10 / sqrt(3) = 24.8. Two of three seeds are of an earlier
    edition, in each experiment."""

    def planted(row: dict) -> dict:
        row["metrics"]["summary"]["utilization"] = {1: 0.7, 2: 0.8, 3: 0.9}[row["seed"]]
        row["made"]["edition"] = {1: EDITION}.get(row["seed"], 1)
        return row

    rewrite(made_up, planted)
    one = model(made_up)
    shown = one.number(
        "one", "good", "summary.utilization", scale=100, digits=1, interval=True, buffer=100
    )
    assert shown == "80.0 ± 24.8"
    assert one.of_this_edition == pytest.approx(1 / 3)


def test_a_page_names_the_experiments_that_have_not_run(made_up: Paper) -> None:
    rewrite(made_up, lambda row: None if row["experiment"] == "other" else row)
    assert model(made_up).not_run == ["other"]
