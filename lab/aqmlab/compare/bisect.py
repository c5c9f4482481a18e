# SPDX-License-Identifier: GPL-2.0
"""Find the commit of a kernel tree, or of a module, that changed a metric of a scenario.

Without --good and --bad the tree is judged as it is, with the exit status that `git bisect run`
expects. With them, a clone in the cache is bisected, so the tree stays as it is.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aqmlab.exceptions import UserError, unknown
from labkit import outside, trees
from labkit.cache import digest
from labkit.errors import LabError
from labkit.paths import CACHE
from labkit.usage import Parser

GOOD, BAD, SKIP, WRONG = 0, 1, 125, 2
#: What git says of the commits that are left, before each step.
LEFT = re.compile(r"\d+ revisions? left to test.*\)")
#: Parts of result.json whose names a metric may leave out.
PREFIXES = ("", "summary.", "groups.")


def numbers(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield all numbers of a result with their paths, such as summary.queue_delay_ms.p99."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from numbers(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, float(value)


def metric(result: Mapping[str, Any], name: str) -> float:
    """Return a number of a result. Raises UserError with the most similar names."""
    known = dict(numbers(result))
    for prefix in PREFIXES:
        if prefix + name in known:
            return known[prefix + name]
    short = [re.sub(r"^(summary|groups)\.", "", each) for each in known]
    raise unknown("metric", name, short)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    p = Parser(
        "bisect",
        "Find the commit of a kernel tree, or of a module, that changed a metric of a scenario.",
        "SCENARIO [OPTION OF run]...",
        "--kernel ~/linux --good v7.2 --bad v7.3 \\\n"
        "    --metric probe.delay_ms.p99 --below 2 step-load --qdisc fq_codel",
    )
    where = p.add_mutually_exclusive_group(required=True)
    where.add_argument("--kernel", metavar="DIR", help="a kernel tree")
    where.add_argument("--module", metavar="DIR", help="a module's sources, as for run")
    p.add_argument("--good", metavar="COMMIT", help="where the metric was good")
    p.add_argument("--bad", metavar="COMMIT", help="where it is bad")
    p.add_argument(
        "--metric", required=True, metavar="NAME", help="path of a number in result.json"
    )
    limit = p.add_mutually_exclusive_group(required=True)
    limit.add_argument("--below", type=float, metavar="X", help="good is less than X")
    limit.add_argument("--above", type=float, metavar="X", help="good is more than X")
    p.add_argument("scenario", nargs=argparse.REMAINDER, metavar="SCENARIO ...", help="as for run")
    return p


def state(args: argparse.Namespace, tree: str) -> str:
    """Return what git calls the state of a tree; a module that is not in git has a hash."""
    if args.kernel or git_top(tree):
        return trees.describe(tree)
    return outside.hash_of(Path(tree))


def judge(args: argparse.Namespace, tree: str) -> int:
    """Run the scenario on a tree as it is. Return GOOD, BAD, or SKIP if there is no result."""
    try:
        if args.module:
            outside.check(Path(tree))
    except LabError as problem:
        print(f"bisect: {problem}, skipped", flush=True)
        return SKIP
    name = state(args, tree)
    with tempfile.TemporaryDirectory(prefix="aqm-bisect-") as place:
        out = Path(place) / "run"
        run = [sys.executable, "-P", "-m", "aqmlab", "run"]
        given = ["--kernel" if args.kernel else "--module", tree]
        command = [*run, *args.scenario, *given, "--out", out]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode == WRONG:
            raise UserError("run refused the scenario, see above")
        if done.returncode:
            print(f"bisect: {name}: no result, skipped", flush=True)
            return SKIP
        value = metric(json.loads((out / "result.json").read_text()), args.metric)
    good = value < args.below if args.below is not None else value > args.above
    word = "good" if good else "bad"
    print(f"bisect: {name}: {args.metric} is {value:g}, {word}", flush=True)
    return GOOD if good else BAD


def git(tree: Path, *words: str) -> str:
    """Return the output of git in a directory. Raises UserError."""
    done = subprocess.run(["git", "-C", tree, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"git {' '.join(words)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def git_top(folder: str) -> str:
    """Return the top directory of the repository that FOLDER is in, or an empty string."""
    command = ["git", "-C", folder, "rev-parse", "--show-toplevel"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if not done.returncode else ""


def bisect(args: argparse.Namespace, tree: str) -> int:
    """Bisect a clone of a tree, and print the first bad commit. Return 0. Raises UserError.

    Both ends are judged first, because with a wrong limit any commit would seem to be the first.
    """
    top = Path(git_top(tree))
    commits = [
        git(Path(tree), "rev-parse", f"{commit}^{{commit}}").strip()
        for commit in (args.bad, args.good)
    ]
    clone = CACHE / "bisect" / digest([str(top).encode()])
    if not clone.exists():
        clone.parent.mkdir(parents=True, exist_ok=True)
        git(top, "clone", "--quiet", "--shared", "--no-checkout", ".", str(clone))
    git(clone, "fetch", "--quiet", "--tags", str(top))
    subprocess.run(["git", "-C", clone, "bisect", "reset"], capture_output=True, check=False)
    words = {GOOD: "good", BAD: "bad", SKIP: "skip"}
    place = clone / Path(tree).relative_to(top)
    for commit, name, wrong in zip(commits, (args.bad, args.good), (GOOD, BAD), strict=True):
        git(clone, "checkout", "--quiet", "--force", "--detach", commit)
        if judge(args, str(place)) == wrong:
            raise UserError(
                f"{name} is {words[wrong]} by this limit: give another --below or --above, or "
                "another commit"
            )
    said = git(clone, "bisect", "start", *commits)
    while "is the first bad commit" not in said:
        if left := LEFT.search(said):
            print(f"bisect: {left[0]}", flush=True)
        said = git(clone, "bisect", words[judge(args, str(place))])
    form = "--format=%h %an, %ad%n    %s"
    print(git(clone, "show", "--no-patch", form, "--date=short", "refs/bisect/bad").strip())
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status: 0 good or found, 1 bad, 125 no result; 2 or 130 asked wrongly."""
    args = parser().parse_args(argv)
    tree = trees.named(args.kernel) if args.kernel else str(Path(args.module).resolve())
    try:
        if not trees.is_tree(tree):
            raise UserError(f"--kernel {args.kernel}: needs the directory of a kernel tree")
        if args.module and not Path(tree).is_dir():
            raise UserError(f"--module {args.module}: there is no such directory")
        if not args.scenario:
            raise UserError("needs a scenario, such as dumbbell")
        if bool(args.good) != bool(args.bad):
            raise UserError("--good and --bad need each other")
        if args.good and not git_top(tree):
            raise UserError(f"{tree} is in no repository of git")
        return bisect(args, tree) if args.good else judge(args, tree)
    except UserError as error:
        print(f"bisect: {error}", file=sys.stderr)
        # git must not take a mistake for a bad commit: from 128 on, it stops.
        return 128 + WRONG if not args.good else WRONG
