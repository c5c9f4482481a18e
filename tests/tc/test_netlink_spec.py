# SPDX-License-Identifier: GPL-2.0
"""The netlink spec that `make spec` writes works with the kernel's own tool, ynl.

ynl reads the spec, configures the disciplines, and shows the same values as tc.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from aqmlab.qdiscs import interface
from labkit.engines import default_kernel
from labkit.sources import ensure_source
from tests.selftests import KINDS, TOP, Kind, every_kind

MEMORY = 1_000_000
#: Keys that tc shows for any qdisc.
CORE = frozenset(
    (
        "kind",
        "handle",
        "root",
        "refcnt",
        "options",
        "bytes",
        "packets",
        "drops",
        "overlimits",
        "requeues",
        "backlog",
        "qlen",
    )
)
Node = dict[str, Any]


@pytest.fixture(scope="module")
def source() -> Path:
    """Return the source tree of the lab's kernel, which contains the schema and ynl."""
    return ensure_source(default_kernel()).tree


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("netlink") / "tc-aqm.yaml"
    with path.open("w") as stream:
        subprocess.run(
            [TOP / "lab" / "python", TOP / "tools" / "netlink-spec"], stdout=stream, check=True
        )
    return path


def schema_of(source: Path) -> Path:
    return source / "Documentation" / "netlink" / "netlink-raw.yaml"


def test_spec_follows_the_kernels_schema(written: Path, source: Path) -> None:
    schema = yaml.safe_load(schema_of(source).read_text())
    spec = yaml.safe_load(written.read_text())
    jsonschema.Draft7Validator(schema).validate(spec)
    described = {row["value"] for row in spec["sub-messages"][0]["formats"]}
    assert described == {kind.name for kind in KINDS}


def test_optional_statistics_are_at_the_end_and_name_their_option() -> None:
    """The test below shows that the kernel sends the others by default, and no more."""
    always = runpy.run_path(str(TOP / "tools" / "netlink-spec"))["always"]
    tdrr = interface.read("tdrr")
    *others, rtt, memory = tdrr.qdisc
    assert (rtt.name, memory.name) == ("rtt", "memory")
    assert always(tdrr, tdrr.qdisc) == tuple(others)
    with pytest.raises(ValueError, match="records follows rtt, which is sent only with follow_rtt"):
        always(tdrr, (*others[:-1], rtt, others[-1], memory))
    for words in ("only with luck", "only with target, only with ecn"):
        with pytest.raises(ValueError, match=f'memory has "{words.split(", ")[-1]}"; these words'):
            always(tdrr, (*others, rtt, replace(memory, help=words)))
    with pytest.raises(ValueError, match="memory follows rtt"):
        always(tdrr, (*others, rtt, replace(memory, help="only with target")))


# For each kind: ynl creates a qdisc with a memory limit, tc and ynl show it, and then ynl sends a
# value that the kernel refuses.
GUEST = r"""
set -e
ip link add d0 type dummy
ip link set d0 up
index=$(cat /sys/class/net/d0/ifindex)
ynl="$1 $2 --spec $3 --schema $4 --process-unknown"
eval "$5"
shift 5
line() { echo "$kind $1 $(shift; "$@" 2>&1 | tr '\n' ' ')"; }
for kind; do
	at="'ifindex': $index, 'parent': 4294967295, 'handle': 65536, 'kind': '$kind'"
	json() { echo "{$at, 'options': {$1}}" | tr "'" '"'; }
	$ynl --do newqdisc --create --json "$(json "'memory-limit': MEMORY")" >&2
	line tc tc -j -s qdisc show dev d0
	line ynl $ynl --output-json --dump getqdisc
	line tc_classes tc class show dev d0
	line classes $ynl --output-json --dump gettclass --json "{\"ifindex\": $index}"
	line refused $ynl --do newqdisc --json "$(json "'split-gso': 2")"
	tc qdisc del dev d0 root
	tc qdisc add dev d0 root $kind $(eval "echo \$options_$kind")
	line tc_card tc -j qdisc show dev d0
	line ynl_card $ynl --output-json --dump getqdisc
	tc qdisc del dev d0 root
done
""".replace("MEMORY", str(MEMORY))


@pytest.fixture(scope="module")
def answers(written: Path, source: Path) -> dict[tuple[str, str], str]:
    """Return the guest's output, by kind and by program."""
    spec = TOP / "build" / "netlink" / f"{os.getpid()}.yaml"
    spec.parent.mkdir(parents=True, exist_ok=True)  # the guest has another /tmp
    spec.write_text(written.read_text())
    options = "; ".join(f"options_{kind.name}='{kind.metadata['OPTIONS']}'" for kind in KINDS)
    done = subprocess.run(
        [
            TOP / "lab" / "boot",
            "--",
            "sh",
            "-c",
            GUEST,
            "sh",
            sys.executable,
            source / "tools" / "net" / "ynl" / "pyynl" / "cli.py",
            spec,
            schema_of(source),
            options,
            *(kind.name for kind in KINDS),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    spec.unlink()
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (line.split(" ", 2) for line in done.stdout.splitlines())
    return {(kind, what): text for kind, what, text in lines}


def ours(text: str, kind: Kind) -> Node:
    """Return the only object of a kind in a JSON array."""
    (found,) = (row for row in json.loads(text) if row["kind"] == kind.name)
    return found


@every_kind
def test_ynl_configures_a_qdisc(answers: dict[tuple[str, str], str], kind: Kind) -> None:
    for who, name in (("tc", "memory_limit"), ("ynl", "memory-limit")):
        assert ours(answers[kind.name, who], kind)["options"][name] == MEMORY
    assert ours(answers[kind.name, "tc"], kind)["options"]["given"] == ["memory_limit"]


@every_kind
def test_ynl_shows_the_options_in_force_and_which_were_given(
    answers: dict[tuple[str, str], str], kind: Kind
) -> None:
    tc = ours(answers[kind.name, "tc_card"], kind)["options"]
    shown = ours(answers[kind.name, "ynl_card"], kind)["options"]
    names = [name for name in tc if name not in ("derived", "mark_mask")]
    assert list(shown) == [name.replace("_", "-") for name in names]
    options = interface.read(kind.name).options
    for masked in ("given", "assumed"):
        assert shown.get(masked, 0) == sum(
            1 << option.attribute for option in options if option.name in tc.get(masked, ())
        )
    scaled = {
        option.name for option in options if option.type in ("FRACTION", "PACKETS_Q8", "MASKED")
    }
    for name in names:
        if type(tc[name]) in (int, bool, str) and name not in scaled:
            assert shown[name.replace("_", "-")] == tc[name], name


@every_kind
def test_ynl_shows_each_statistic_like_tc(answers: dict[tuple[str, str], str], kind: Kind) -> None:
    tc = ours(answers[kind.name, "tc"], kind)
    shown = ours(answers[kind.name, "ynl"], kind)["stats2"]["app"]
    # tc converts fractions and fixed-point numbers. ynl shows the raw values.
    plain = {
        s.name
        for s in interface.read(kind.name).qdisc
        if s.show in ("EVENTS", "COUNT", "BYTES", "NS", "US")
    }
    same = {name: value for name, value in tc.items() if type(value) is int and name in plain}
    assert len(same) > 10
    known = {name: shown.get(name.replace("_", "-")) for name in tc if name not in CORE}
    assert None not in known.values()
    assert len(known) > len(shown) - 3  # two are in the header
    assert known["memory_limit"] == MEMORY
    assert {name: known[name] for name in known if name in same} == {
        name: same[name] for name in known if name in same
    }


@every_kind
def test_ynl_shows_classes(answers: dict[tuple[str, str], str], kind: Kind) -> None:
    handles = re.findall(r"class \w+ 1:(\w+)", answers[kind.name, "tc_classes"])
    shown = json.loads(answers[kind.name, "classes"])
    assert [row["handle"] for row in shown] == [0x10000 + int(minor, 16) for minor in handles]
    assert all(row["stats2"]["app"]["xstats-type"] == 1 for row in shown)
    if kind.name == "cbt":
        assert [row["stats2"]["app"]["class-id"] for row in shown] == ["tcp", "tagged", "other"]


@every_kind
def test_refusal_names_the_option(answers: dict[tuple[str, str], str], kind: Kind) -> None:
    said = answers[kind.name, "refused"]
    assert "split_gso must be 0 to 1" in said  # the kernel's words
    assert f".options({kind.name}).split-gso" in said  # and the attribute, by the spec
