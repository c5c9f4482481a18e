# SPDX-License-Identifier: GPL-2.0
"""The workflows in examples/forge: docs/forge.md has their transcript, which test_transcripts runs.

The command in the workflows is run here, too, as the forge's shell does.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.scenarios.shortrun import ROOT

PLACE = ROOT / "examples" / "forge"
FORGES = ("github", "gitlab")
WORSE = 3


def workflow(forge: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((PLACE / f"{forge}.yml").read_text())
    return found


def commands(forge: str) -> list[str]:
    """Return the commands of the job that compares."""
    if forge == "gitlab":
        script: list[str] = workflow(forge)["compare"]["script"]
        return script
    steps = workflow(forge)["jobs"]["compare"]["steps"]
    return [step["run"] for step in steps if step.get("name") == "compare"]


def shown(forge: str) -> set[str]:
    """Return the files that the forge shows."""
    if forge == "gitlab":
        artifacts = workflow(forge)["compare"]["artifacts"]
        assert artifacts["when"] == "always"
        return {artifacts["reports"]["junit"], *artifacts["paths"]}
    steps = [step for step in workflow(forge)["jobs"]["compare"]["steps"] if "with" in step]
    uploads = [step for step in steps if "upload" in step["uses"]]
    assert all(step["if"] == "always()" for step in uploads)
    return {str(step["with"].get("sarif_file", step["with"].get("path"))) for step in uploads}


def git(tree: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *words], cwd=tree, check=True, capture_output=True)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository: a queue, a longer one, and the longer one with another comment."""
    made = tmp_path_factory.mktemp("tree")
    (made / "qdisc").mkdir()
    for name in ("compare", "workloads.toml"):
        shutil.copy(PLACE / name, made)
    module = made / "qdisc" / "sch_mine.c"
    shutil.copy(ROOT / "docs" / "your-own" / "sch_mine.c", module)
    git(made, "init", "-q")
    git(made, "add", ".")
    git(made, "commit", "-qm", "a queue")
    code = module.read_text()
    module.write_text(code.replace("sch->limit = nla_get_u32", "sch->limit = 2 * nla_get_u32"))
    git(made, "commit", "-qam", "a longer queue")
    module.write_text(module.read_text() + "/* The end. */\n")
    git(made, "commit", "-qam", "a comment")
    return made


def compared(tree: Path, command: str, base: str) -> subprocess.CompletedProcess[str]:
    shutil.rmtree(tree / "out", ignore_errors=True)
    return subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=tree,
        env=os.environ | {"AQM_COMPARE": str(ROOT / "netns-scenarios" / "compare"), "BASE": base},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_workflows_and_the_page_have_one_command() -> None:
    (command,) = commands("github")
    assert commands("gitlab") == [command]
    page = (ROOT / "docs" / "forge.md").read_text()
    assert f"&& {command}; echo" in page
    job = workflow("github")["jobs"]["compare"]
    assert {*job["env"]} == {"AQM_COMPARE", "BASE"}
    assert job["env"]["AQM_COMPARE"] == workflow("gitlab")["compare"]["variables"]["AQM_COMPARE"]
    assert (ROOT / job["env"]["AQM_COMPARE"].removeprefix("sch-aqm/")).is_file()


def test_the_workflow_fails_for_a_worse_module_and_names_it(tree: Path) -> None:
    (command,) = commands("github")
    done = compared(tree, command, "HEAD~2")
    assert done.returncode == WORSE, done.stderr
    for forge in FORGES:
        assert all((tree / name).is_file() for name in shown(forge)), forge
    (run,) = json.loads((tree / "out" / "compare" / "compare.sarif").read_text())["runs"]
    rules = {one["ruleId"]: one for one in run["results"] if one["level"] == "error"}
    assert "probe delay p99, ms" in rules
    for one in rules.values():
        (place,) = one["locations"]
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "qdisc/sch_mine.c"
    cases = ET.parse(tree / "out" / "compare" / "junit.xml").getroot()
    bad = [case for case in cases if case.find("failure") is not None]
    assert {case.get("file") for case in bad} == {"qdisc/sch_mine.c"}
    assert any(
        re.match(r"probe delay p99, ms: mine of qdisc ", case.get("name", "")) for case in bad
    )


def test_the_workflow_accepts_a_module_that_does_the_same(tree: Path) -> None:
    (command,) = commands("gitlab")
    done = compared(tree, command, "HEAD~1")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads((tree / "out" / "compare" / "compare.sarif").read_text())["runs"]
    assert run["results"] == []
    cases = ET.parse(tree / "out" / "compare" / "junit.xml").getroot()
    assert len(cases) >= 5
    assert not list(cases.iter("failure"))
