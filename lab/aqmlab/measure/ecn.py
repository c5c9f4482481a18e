# SPDX-License-Identifier: GPL-2.0
"""Warn if flows that wanted ECN did not have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aqmlab.qdiscs import names
from aqmlab.run.guest_kernel import DEFAULT

OFF, ACCURATE = "off", "accecn"


def warnings(
    ends: Sequence[Mapping[str, str]],
    recipe: Mapping[str, Any],
    guest: Mapping[str, Any],
    asked: str,
    dropped: int,
) -> list[str]:
    """Return a sentence for each group with flows that wanted ECN in vain.

    ends: rows of flows.csv
    asked: the parameter `ecn`
    dropped: packets that the qdisc dropped
    """
    needs = {*recipe.get("needs_ecn", ())}
    control = {str(flow["id"]): str(flow.get("cc", "")) for flow in recipe.get("flows", ())}
    groups: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    for row in ends:
        cc = control.get(row["flow"], "")
        # iperf3 does not tell, and a flow without data has nothing to mark.
        if "ect" in row and cc and (cc in needs or asked != OFF) and int(row["segs_received"]):
            groups.setdefault((row["group"], cc), []).append(row)
    found = [
        text
        for (group, cc), rows in groups.items()
        for text in _of_flows(group, cc, rows, asked, dropped if cc in needs else 0)
    ]
    return [*found, *_of_hosts(recipe, guest, asked, needs)]


def _of_flows(
    group: str, cc: str, rows: Sequence[Mapping[str, str]], asked: str, dropped: int
) -> Iterator[str]:
    without = sum(not int(row["ect"]) for row in rows)
    other = sum(row["ecn"] != ACCURATE for row in rows)
    if without:
        yield (
            f"group {group}: {without} of {len(rows)} flows with {cc} had no packet with ECT: "
            "the other end refused ECN, so no qdisc can mark them"
        )
    elif asked == ACCURATE and other:
        yield (
            f"group {group}: {other} of {len(rows)} flows with {cc} asked for AccECN and did "
            "not get it"
        )
    # A web flow counts the marks of its last connection only.
    elif dropped and not any(row["kind"] != "bulk" or int(row["delivered_ce"]) for row in rows):
        yield (
            f"group {group}: no packet of the {len(rows)} flows with {cc} was marked, and the "
            f"qdisc dropped {dropped}, so {cc} reacted to losses only: give the qdisc its "
            "option for ECN"
        )


def classic_dctcp(recipe: Mapping[str, Any], qdisc: str, change: str) -> list[str]:
    """Return a warning if the kernel's DCTCP is in the classic queue of dualpi2.

    It sends ECT(0). Without any_ect, dualpi2 has its L4S queue for ECT(1) only.
    qdisc: the words of --qdisc
    change: the parameter `change`
    """
    words = [*names.words(qdisc), *change.split()]
    controls = {
        *(flow.get("cc") for flow in recipe.get("flows", ())),
        *(values.get(DEFAULT) for values in recipe.get("sysctls", {}).values()),
    }
    if "dualpi2" not in words or "any_ect" in words or "dctcp" not in controls:
        return []
    return [
        "dctcp sends ECT(0), which dualpi2 has in its classic queue: use cc=dctcp_ect1, or "
        '--qdisc "dualpi2 any_ect"'
    ]


def _of_hosts(
    recipe: Mapping[str, Any], guest: Mapping[str, Any], asked: str, needs: set[str]
) -> Iterator[str]:
    """Yield warnings about programs. Their connections are unknown, so the hosts' counters tell."""
    for meter in recipe.get("meters", ()):
        hosts = (meter["source_netns"], f"dst-{meter['group']}")
        cc = recipe["sysctls"][hosts[0]][DEFAULT]
        counters = (guest["counters"]["after"][host] for host in hosts)
        if (cc in needs or asked != OFF) and not any(
            counter["received_ect"] for counter in counters
        ):
            yield (
                f"{meter['group']}: no packet with ECT arrived, with cc={cc} and ecn={asked}: "
                "its programs did not use TCP with ECN"
            )
