# SPDX-License-Identifier: GPL-2.0
"""The file with a paper's rows: rows are read as they were written, and merging loses nothing."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from aqmlab.exceptions import UserError
from replay import merge, paper, store

#: A row with everything that may occur: numbers, text, None, lists, nested and empty parts.
ROW: dict[str, Any] = {
    "tcp_profile": "own",
    "cell": "a-1",
    "experiment": "e",
    "discipline": "red",
    "at": {"rate": 2.0, "buffer": 100, "rtt": "25-58"},
    "seed": 1,
    "command": "dumbbell --seed 1",
    "bounds": {"C1": "0123456789"},
    "made": {
        "edition": 2,
        "version": "1",
        "modules": {"red": "ab", "pfifo": None},
        "kernel": "7",
        "compiler": "c",
        "tc": "t",
    },
    "digest": "0123456789abcdef",
    "cpu_s": 6.0,
    "virtual_s": 50.5,
    "metrics": {
        "summary": {"utilization": 0.5, "dropped": 3, "jain": 0.1, "sd": 0.123456},
        "long": {"third": 1 / 3},
        "payload": {"udp": 972},
        "offered_bps": {},
        "flows_bps": [1.5, 2],
        "use": {"rtr": 1},
        "phases": [{"name": "a", "from_s": 0}, {"name": "b", "from_s": 2.5}],
    },
}


def other(**changed: Any) -> dict[str, Any]:
    """Return another row, without axes and with fewer metrics."""
    return {
        **copy.deepcopy(ROW),
        "cell": "b-1",
        "at": {},
        "bounds": {},
        "metrics": {"summary": {"utilization": 1}, "payload": {}, "offered_bps": {}},
        **changed,
    }


def text(rows: Any) -> list[str]:
    """Return rows as JSON, where 1 and 1.0, and a missing key and None, differ."""
    return [json.dumps(row, sort_keys=True) for row in rows]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "results.parquet"
    store.write(path, [ROW, other()])
    assert text(store.read(path)) == text([ROW, other()])


def test_an_axis_may_have_numbers_and_texts(tmp_path: Path) -> None:
    """A round-trip time is 3 in one experiment and "3-40" in another one."""
    rows = [
        other(cell=f"c-{i}", at={"rtt": value}) for i, value in enumerate(("3-40", 3, 2.5, "7", 7))
    ]
    store.write(tmp_path / "rows", [ROW, *rows])
    back = [row["at"]["rtt"] for row in store.read(tmp_path / "rows")]
    assert back == ["25-58", "3-40", 3, 2.5, "7", 7]
    assert [type(value) for value in back] == [str, str, int, float, str, int]


def test_rows_of_older_versions_lose_bottlenecks_and_most_of_the_digest(tmp_path: Path) -> None:
    path, digest = tmp_path / "results.parquet", f"{ROW['digest']}{'f' * 48}"
    store.write(path, [{**ROW, "digest": digest, "hops": {"rtr 1:": {"offered": 9}}}])
    assert text(store.read(path)) == text([ROW])
    frame = pd.read_parquet(path)
    pd.DataFrame({**frame, "digest": digest, "hops": ["{}"]}).to_parquet(path)
    (row,) = store.read(path)
    assert text([{**row, "digest": row["digest"][:16]}]) == text([ROW])


def test_pandas_opens_the_file_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "results.parquet"
    store.write(path, [ROW, other()])
    frame = pd.read_parquet(path)
    assert list(frame["summary.utilization"]) == [0.5, 1.0]
    assert frame["at.buffer"].tolist()[0] == 100
    assert frame["at.buffer"].isna().tolist() == [False, True]


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    for path in (one, two):
        store.write(path, [ROW, other()])
    assert one.read_bytes() == two.read_bytes()


def test_an_interruption_loses_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.parquet"
    store.write(path, [ROW])
    store.append(path, other())
    with store.journal(path).open("a") as file:
        file.write('{"cell": "cut sho')
    assert text(store.read(path)) == text([ROW, other()])
    store.append(path, other(cell="c-1"))
    assert [row["cell"] for row in store.read(path)] == ["a-1", "b-1", "c-1"]

    def full(self: Path, target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        store.write(path, store.read(path))
    assert [row["cell"] for row in store.read(path)] == ["a-1", "b-1", "c-1"]


def test_writing_empties_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "results.parquet"
    store.append(path, ROW)
    store.write(path, store.read(path))
    assert not store.journal(path).exists()
    assert text(store.read(path)) == text([ROW])


def test_the_last_row_of_each_cell_is_selected() -> None:
    rows = [
        other(cell=cell, command=command, digest=str(digest))
        for cell, command, digest in (
            ("b", "run b", 1),
            ("a", "run a", 1),
            ("b", "run b", 2),
            ("a", "run another", 3),
            ("gone", "run gone", 1),
        )
    ]
    found = store.of(rows, {"a": "run a", "b": "run b", "absent": "run it"})
    assert [(row["cell"], row["digest"]) for row in found] == [("a", "1"), ("b", "2")]


@pytest.mark.parametrize("name", paper.names())
def test_committed_rows_are_written_as_they_are_read(name: str, tmp_path: Path) -> None:
    one = paper.load(name)
    for path in filter(Path.exists, (one.results, one.traces)):
        store.write(tmp_path / path.name, store.read(path))
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_results_of_two_checkouts_are_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each checkout has one row that the other does not have, and both have a third."""
    name = "parris1999"
    whole = paper.load(name).stored()
    here, there = tmp_path / "here", tmp_path / "there"
    relative = paper.load(name).results.relative_to(merge.ROOT)
    for root, rows in ((here, whole[1:]), (there, whole[:-1])):
        (root / relative).parent.mkdir(parents=True)
        store.write(root / relative, rows)
        for kind in ("sweep.toml", "claims.toml"):
            data = (merge.ROOT / relative.with_name(kind)).read_bytes()
            (root / relative.with_name(kind)).write_bytes(data)
    monkeypatch.setattr(paper, "PAPERS", (here / relative).parents[1])
    monkeypatch.setattr(merge, "ROOT", here)
    one = paper.load(name)
    merge.merge(one, [str(there)])
    assert text(one.stored()) == text(whole)
    with pytest.raises(UserError, match="neither a checkout nor a git revision"):
        merge.merge(one, [str(tmp_path / "nothing")])


@pytest.mark.parametrize("place", ["papers", "netns-scenarios/papers"])
def test_results_of_a_git_revision_are_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Papers were in another directory before."""
    monkeypatch.setattr(merge, "ROOT", tmp_path)
    one = paper.Paper("made-up", {}, {}, {}, [])
    monkeypatch.setattr(paper, "PAPERS", tmp_path / "papers")
    stored = tmp_path / place / one.name / one.results.name
    stored.parent.mkdir(parents=True)
    store.write(stored, [ROW])
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "-m", "rows"],
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    stored.unlink()
    results, over_time = merge._rows(one, "HEAD")
    assert (text(results), over_time) == (text([ROW]), [])
