# SPDX-License-Identifier: GPL-2.0
"""The bounds of a claim must be committed before the runs that judge it.

This compares rows with the git history, if the checkout has it.
"""

from __future__ import annotations

import functools
import json
import subprocess
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from aqmlab import ROOT
from replay import claim_types, claims, paper, store
from replay.experiment import with_workloads


def git(*words: str) -> str:
    """Return git's output, or nothing if it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if not done.returncode else ""


pytestmark = pytest.mark.skipif(
    git("rev-parse", "--is-shallow-repository").strip() != "false",
    reason="needs the whole git history",
)


@functools.cache
def ancestors() -> frozenset[str]:
    return frozenset(git("log", "--format=%H").split())


@functools.cache
def commit(version: str) -> str:
    """Return the commit of a version such as 1.2+3.gabc, if it is an ancestor of HEAD."""
    whole = git("rev-parse", f"{version.rpartition('g')[2]}^{{commit}}").strip()
    return whole if whole in ancestors() else ""


def paths(name: str, file: str) -> list[str]:
    """Return where a file of a paper is, and where it was until 2026-11."""
    return [f"papers/{name}/{file}", f"{paper.BEFORE}/{name}/{file}"]


def shown(at: str, name: str, file: str) -> bytes:
    """Return a file of a paper at a commit, or nothing if the commit does not have it."""
    for path in paths(name, file):
        done = subprocess.run(["git", "show", f"{at}:{path}"], cwd=ROOT, capture_output=True)
        if not done.returncode:
            return done.stdout
    return b""


@functools.cache
def bounds(name: str, at: str) -> Mapping[str, str]:
    """Return each claim's bounds at a commit, by id.

    A commit whose claims are invalid set none: no run starts with them.
    """
    text = tomllib.loads(shown(at, name, claims.CLAIMS).decode())
    listed = text.get("claim", ())  # a list until 2026-11
    try:
        return {
            one["id"]: claim_types.bounds_of(one)
            for one in (listed if isinstance(listed, list) else claims.written_out(text))
        }
    except ValueError:
        return {}


def row_lines(name: str, at: str) -> list[dict[str, Any]]:
    """Return the rows of the paper's own TCP profile at a commit. They were JSON before 2026-11."""
    if stored := shown(at, name, "results.parquet"):
        return [row for row in store.parse(stored) if row["tcp_profile"] == paper.OWN]
    return [json.loads(line) for line in shown(at, name, "results.jsonl").splitlines()]


#: Number of rows per paper whose commits have other hashes in the history, so that we cannot check
#: them. Remove an entry when its rows have run again.
OF_OTHER_NAMES = {"kantawala2001": 55, "wang2001": 7}


@pytest.mark.parametrize("name", paper.names())
def test_each_row_is_from_a_commit_with_the_same_bounds(name: str) -> None:
    unknown = 0
    wrong = []
    for profile in paper.load(name).profiles:
        one = paper.load(name, profile=profile)
        for row in one.stored():
            at = commit(row["made"]["version"])
            unknown += not at
            there = bounds(name, at) if at else row["bounds"]
            if any(there.get(key) != value for key, value in row["bounds"].items()):
                wrong.append((profile, row["cell"], row["made"]["version"]))
    assert not wrong, f"{len(wrong)}, {wrong[0]} first"
    assert unknown <= OF_OTHER_NAMES.get(name, 0)


@pytest.mark.parametrize("name", paper.names())
def test_claim_says_whether_its_bounds_are_younger_than_its_runs(name: str) -> None:
    """Only the judging runs count. Runs with other seeds or lengths may be older."""
    one = paper.load(name)
    listed, cells = {claim.id: claim for claim in claims.load(one.directory)}, one.commands()
    first: dict[str, list[str]] = {}
    for at in git("log", "--reverse", "--format=%H", "--", *paths(name, claims.CLAIMS)).split():
        for key, value in bounds(name, at).items():
            if (
                key in listed
                and value == listed[key].bounds
                and not any(key in ids for ids in first.values())
            ):
                first.setdefault(at, []).append(key)
    for at, ids in first.items():
        made = row_lines(name, f"{at}^")
        for key in ids:
            had = any(
                listed[key].judges(row["experiment"], row["discipline"], row["at"])
                and cells.get(row["cell"]) == row["command"]
                for row in made
            )
            assert listed[key].seen or not had, f"{key}: {at[:12]} set its bounds"


#: Experiments whose number of seeds changed after some of their rows had been seen. Add none: more
#: seeds until a claim is decided make it decide too often.
RAISED_LATER = {
    "buffers": {"paced", "reno"},
}


@functools.cache
def seeds(name: str, at: str) -> Mapping[str, int]:
    """Return the number of seeds of each experiment at a commit."""
    text = tomllib.loads(shown(at, name, paper.SWEEP).decode())
    listed = text.get("experiment", ())  # a list until 2026-11
    named = (
        listed
        if isinstance(listed, list)
        else [{"name": key, **one} for key, one in listed.items()]
    )
    return {one["name"]: one.get("seeds", text["seeds"]) for one in with_workloads(named)}


@pytest.mark.parametrize("name", paper.names())
def test_number_of_seeds_was_set_before_the_runs(name: str) -> None:
    one = paper.load(name)
    now, raised = {each.name: each.seeds for each in one.experiments}, set()
    for row in one.stored():
        at = commit(row["made"]["version"])
        before = seeds(name, at).get(row["experiment"]) if at else None
        if before and before != now.get(row["experiment"], before):
            raised.add(row["experiment"])
    assert raised == RAISED_LATER.get(name, set())


@pytest.mark.parametrize("name", ["buffers", "dropcut", "memory", "mixed", "settings"])
def test_our_own_questions_name_the_commit_of_their_bounds(name: str) -> None:
    for claim in claims.load(paper.load(name).directory):
        place, _, named = claim.place.partition("; bound set in ")
        assert place.startswith("our own question"), claim.id
        whole = git("rev-parse", f"{named}^{{commit}}").strip()
        assert whole in ancestors()
        assert bounds(name, whole)[claim.id] == claim.bounds
        assert bounds(name, f"{whole}^").get(claim.id) != claim.bounds
