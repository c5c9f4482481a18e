# SPDX-License-Identifier: GPL-2.0
"""The files of docs/keep-a-setting.md do in a guest what the page says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PAGE = (TOP / "docs" / "keep-a-setting.md").read_text()
PLACE = TOP / "build" / "keep-a-setting"
# A device that has a queue, as a network card has. The lab calls it gate.
CARD = "ip link add eth0 numtxqueues {queues} type gate"


@pytest.fixture(scope="module")
def files() -> dict[str, Path]:
    """Write the files of the page below PLACE. Return them by their names on a machine."""
    shutil.rmtree(PLACE, ignore_errors=True)
    written = {}
    for name, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        written[name] = PLACE / name.lstrip("/")
        written[name].parent.mkdir(parents=True, exist_ok=True)
        written[name].write_text(text)
    assert len(written) == 4
    return written


def guest(*commands: str) -> str:
    done = subprocess.run(
        [TOP / "lab" / "boot", "--", "sh", "-ec", "\n".join(commands)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_default_qdisc_reaches_each_queue_of_a_card(files: dict[str, Path]) -> None:
    shown = guest(
        f"sysctl -p {files['/etc/sysctl.d/90-aqm.conf']}",
        CARD.format(queues=4),
        "ip link set eth0 up",
        "tc qdisc show dev eth0",
    )
    assert shown.count("qdisc mq 0: root") == 1
    assert len(re.findall(r"^qdisc tdrr 0: parent :[1-4] ", shown, re.MULTILINE)) == 4


def test_unit_of_systemd_is_valid_and_its_commands_work(files: dict[str, Path]) -> None:
    unit = files["/etc/systemd/system/aqm@.service"]
    verify = ["systemd-analyze", "verify", "--man=no", str(unit.with_name("aqm@eth0.service"))]
    path = {"SYSTEMD_UNIT_PATH": f"{unit.parent}:", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(verify, capture_output=True, text=True, check=False, env=path)
    assert "aqm@" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
    start, stop = (
        re.findall(rf"^Exec{word}=(.*)$", unit.read_text(), re.MULTILINE)[0]
        for word in ("Start", "Stop")
    )
    shown = guest(
        CARD.format(queues=1),
        start.replace("%i", "eth0"),
        "tc qdisc show dev eth0",
        stop.replace("%i", "eth0"),
        "tc qdisc show dev eth0",
    )
    assert shown.count("target 5ms") == 1


def test_script_for_networkmanager_acts_on_its_interface_only(files: dict[str, Path]) -> None:
    script = f"sh {files['/etc/NetworkManager/dispatcher.d/50-aqm']}"
    shown = guest(
        CARD.format(queues=1),
        f"{script} eth0 pre-up",
        f"{script} lo up",
        "tc qdisc show",
        "echo then",
        f"{script} eth0 up",
        "tc qdisc show dev eth0",
    )
    before, after = shown.split("then")
    assert "tdrr" not in before
    assert "qdisc tdrr " in after
    assert "target 5ms" in after


def test_line_for_ifupdown_sets_the_qdisc(files: dict[str, Path]) -> None:
    """Debian's package is unpacked and not installed, because it would manage the machine."""
    package = PLACE / "ifupdown"
    package.mkdir()
    fetched = subprocess.run(
        ["apt-get", "download", "ifupdown"],
        cwd=package,
        check=False,
        capture_output=True,
        text=True,
    )
    if fetched.returncode:
        pytest.skip(f"apt-get cannot download ifupdown: {fetched.stderr[-200:]}")
    (deb,) = package.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", deb, package], check=True)
    interfaces = files["/etc/network/interfaces"]
    # ifup passes on no variables, and the lab's plugins are not in tc's own directory.
    adapted = f'sed "s,up tc,up TC_LIB_DIR=$TC_LIB_DIR tc," {interfaces} >/tmp/interfaces'
    ifup = f"{package}/sbin/ifup --no-scripts -i /tmp/interfaces --state-dir /tmp/run eth0"
    shown = guest(CARD.format(queues=1), "mkdir /tmp/run", adapted, ifup, "tc qdisc show dev eth0")
    assert "qdisc tdrr " in shown
    assert "target 5ms" in shown
