# SPDX-License-Identifier: GPL-2.0
"""Test lab/traffic/inspace.c in the lab: orders for namespaces, and their errors."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUP = "ip netns add a; ip netns add b; ip -n a link add v0 type veth peer name v1 netns b; "
FORWARD = "/proc/sys/net/ipv4/ip_forward"


def inspace(orders: str, then: str = "true") -> tuple[int, str, str]:
    """Give ORDERS to inspace in a guest with two namespaces. Returns status and both outputs."""
    script = f"{SETUP} printf '{orders}' | inspace; status=$?; {then}; exit $status"
    done = subprocess.run(
        [ROOT / "lab" / "boot", "--", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_setting_is_written_in_its_namespace_only() -> None:
    orders = f"a write {FORWARD} 1\\n"
    orders += "".join(f"{ns} read {FORWARD}\\n" for ns in ("a", "b", "-", "a"))
    status, shown, _ = inspace(orders)
    assert status == 0
    expected = [("a", 1), ("b", 0), ("-", 0), ("a", 1)]
    assert shown == "".join(f"> {ns} {FORWARD}\n{value}\n" for ns, value in expected)


def test_a_setting_that_the_kernel_lacks_is_left_out() -> None:
    assert inspace("a write /proc/sys/net/ipv4/no_such_thing 1\\na read /proc/no*\\n")[:2] == (
        0,
        "",
    )


def test_offloads_are_switched_as_ethtool_does() -> None:
    show = "ip netns exec {} ethtool -k {} | grep -E '^(tcp-seg|generic-|\ttx-tcp.*seg)'"
    orders = "".join(f"a offload v0 {name} off\\n" for name in ("tso", "gso", "gro"))
    by_ethtool = "ip netns exec b ethtool -K v1 tso off gso off gro off >&2"
    then = f"{show.format('a', 'v0')} >/tmp/a; {by_ethtool}; {show.format('b', 'v1')} >/tmp/b"
    status, shown, said = inspace(orders, f"{then}; diff /tmp/a /tmp/b && wc -l </tmp/a")
    assert status == 0, said
    assert int(shown) >= 6, shown


@pytest.mark.parametrize(
    ("order", "status", "said"),
    [
        ("a write", 2, "a write: not an order"),
        ("a throw /proc/x y", 2, "a throw /proc/x y: not an order"),
        ("none read /proc/version", 2, "network namespace none"),
        ("a offload v0 lro on", 2, "a offload v0 lro on: no such offload"),
        ("a offload v0 tso maybe", 2, "a offload v0 tso maybe: neither on nor off"),
        ("a offload v9 tso on", 1, "a offload v9 tso on: No such device"),
        ("a write /proc/version 1", 1, "a write /proc/version 1: Input/output error"),
        (f"a write {FORWARD} many", 1, f"a write {FORWARD} many: Invalid argument"),
    ],
)
def test_an_order_that_fails_is_named(order: str, status: int, said: str) -> None:
    done = inspace(f"{order}\\na read /proc/version\\n")
    assert done[0] == status
    assert said in done[2]
    assert not done[1]
