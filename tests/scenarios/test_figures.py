# SPDX-License-Identifier: GPL-2.0
"""report --figure: the data of figures, their files, and wrong requests."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from aqmlab.exceptions import UserError
from aqmlab.report import figure_data, figures, html_report, load_runs
from tests.scenarios.test_explore import SETTINGS, TCP
from tests.scenarios.test_report import make, make_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("figures") / "runs"
    make(where, SETTINGS)
    (where / "fair-2" / "tcp.csv").write_text(TCP)
    return where


def panels(what: str, *places: Path) -> Sequence[figure_data.Panel]:
    sections = load_runs.collect(places)
    return figure_data.panels(sections, [str(one.buffer) for one in sections], what)


def test_queue_over_time_is_that_of_the_log(runs: Path) -> None:
    found = panels("queue", runs)
    assert [panel.title for panel in found] == ["2", "4"]
    assert [line.name for line in found[0].lines] == ["fair", "plain"]
    assert found[0].lines[0].x == [0, 1, 2, 3]
    assert found[0].lines[0].y == [0, 4, 2, 0]


def test_statistic_and_window_over_time(runs: Path) -> None:
    assert panels("state:marked", runs)[0].lines[0].y == [0, 2, 2, 5]
    (near,) = panels("cwnd:near", runs / "fair-2")[0].lines
    assert (near.x, near.y) == ([0, 1, 2], [2, 20, 10])


def test_goodput_is_a_distribution_over_flows_and_seeds(tmp_path: Path) -> None:
    for seed in (1, 2):
        make_run(tmp_path / str(seed), seed=seed)
    found = panels("goodput:far", tmp_path)[0]
    # Flow 1 gets 80 kb/s, with each seed: the step from 0 to 1 is there.
    assert found.share
    assert np.allclose(found.lines[0].x, 0.08)
    assert found.lines[0].y == [0, 0.5, 1]


def test_metric_is_drawn_against_what_differs(runs: Path) -> None:
    (found,) = panels("sd", runs)
    assert (found.x_title, found.y_title) == ("buffer", "sd / fair share, %")
    lines = {line.name: line for line in found.lines}
    assert lines["plain"].x == [2, 4]
    # Flows of 0.20 and 0.08 or 0.04 Mb/s, and a fair share of 0.25 Mb/s
    assert lines["plain"].y == pytest.approx([24, 32])
    (one,) = panels("sd", runs / "plain-2", runs / "fair-2")
    assert one.points
    assert [line.x[0] for line in one.lines] == pytest.approx([24, 0])


def test_metric_of_runs_that_differ_twice_is_refused(tmp_path: Path) -> None:
    base = {"flows": 2, "rate": 1, "access": 10, "rtt": 40, "duration": 2, "warmup": 1}
    make_run(tmp_path / "1", parameters=base)
    make_run(tmp_path / "2", parameters=base | {"flows": 3, "rtt": 50})
    with pytest.raises(UserError, match="the runs differ in flows, rtt"):
        panels("sd", tmp_path)


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("quue", "did you mean queue"),
        ("goodput:fare", "did you mean far"),
        ("delay", "run it with --set probe=on"),
        ("sojourn", "run it with --sojourn"),
        ("state:no", "no run has this statistic"),
    ],
)
def test_missing_data_is_a_sentence(runs: Path, what: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        panels(what, runs)


@pytest.mark.parametrize(
    ("kind", "begins"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89P")]
)
def test_file_has_its_format_and_the_same_bytes_again(
    runs: Path, kind: str, begins: bytes, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{name}.{kind}" for name in "ab"]
    for path in paths:
        assert html_report.main([str(runs), "--figure", str(path), "--plot", "queue"]) == 0
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert first.startswith(begins)


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="PGF needs LaTeX")
def test_latex_reads_pgf(runs: Path, tmp_path: Path) -> None:
    words = [str(runs), "--figure", str(tmp_path / "f.pgf"), "--plot", "queue"]
    assert html_report.main(words) == 0
    text = r"\documentclass{article}\usepackage{pgf}\begin{document}\input{f.pgf}\end{document}"
    (tmp_path / "a.tex").write_text(text)
    words = ["pdflatex", "-interaction=batchmode", "-halt-on-error", "a"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, (tmp_path / "a.log").read_text()[-2000:]


def test_pgf_without_latex_is_a_sentence_and_leaves_no_file(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures, "LATEX", ("no-such-latex",))
    assert html_report.main([str(runs), "--figure", str(tmp_path / "f.pgf")]) == 2
    assert "PGF needs LaTeX: apt-get install" in capsys.readouterr().err
    assert not (tmp_path / "f.pgf").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--figure", "x.eps"), "needs a name that ends with pdf, svg, pgf, png"),
        (("--figure", "x.pdf", "--size", "3cm"), "such as 120x75"),
        (("--figure", "x.pdf", "--size", "3x5"), "allowed: 20 to 1000 mm"),
    ],
)
def test_wrong_figure_is_refused(
    runs: Path, words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert html_report.main([str(runs), *words]) == 2
    assert says in capsys.readouterr().err
