# SPDX-License-Identifier: GPL-2.0
"""Statistics of a module of the user's have the names of its structure."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from aqm.runs import Runs
from aqmlab.exceptions import UserError
from aqmlab.qdiscs import own_statistics, xstats
from aqmlab.report import html_report
from tests.scenarios.shortrun import ROOT, edit, result

STRUCTURE = """
/* struct tc_other_xstats { pointer } */
struct tc_mine_xstats {
	__u32 arrivals;		/* all */
	__u8 state, mode;	// two
	u64 bytes;
	__s32 error[2];
};
"""
DUMP = """
struct tc_mine_xstats {
	__u32 full;		/* packets that found no room */
	__s64 twice;
};

static int mine_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_mine_xstats st = {
		.full = sch->qstats.drops, .twice = -2ll * sch->qstats.drops,
	};

	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct Qdisc_ops"""


def test_layout_is_the_compilers() -> None:
    found = own_statistics.fields(STRUCTURE, "mine")
    raw = struct.pack("=IBB2xQii", 7, 1, 2, 1 << 40, -3, 4)
    assert xstats.values("mine", raw, found) == {
        "arrivals": 7,
        "state": 1,
        "mode": 2,
        "bytes": 1 << 40,
        "error[0]": -3,
        "error[1]": 4,
    }
    assert own_statistics.fields(STRUCTURE, "other") == []


@pytest.mark.parametrize(
    "text",
    [
        "struct tc_mine_xstats { u32 a; struct list_head list; };",
        "struct tc_mine_xstats { u32 a; void *p; };",
        "struct tc_mine_xstats { u32 a; } __packed;",
        "struct tc_mine_xstats { u32 a[N]; };",
    ],
)
def test_other_members_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="allowed are members of the types u8 to u64"):
        own_statistics.fields(text, "mine")


def test_run_state_and_report_have_the_names(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(ROOT / "docs" / "your-own", mine)
    edit(mine / "sch_mine.c", "\nstatic struct Qdisc_ops", DUMP)
    edit(
        mine / "sch_mine.c",
        "\t.dump\t\t= mine_dump,",
        "\t.dump\t\t= mine_dump,\n\t.dump_stats\t= mine_dump_stats,",
    )
    out = tmp_path / "r"
    result(out, "--module", str(mine), "--qdisc", "mine 1 u32 20")
    # The result has the names, so the source may go.
    shutil.rmtree(mine)
    runs = Runs("mine", [out])
    assert (runs.state["twice"] == -2 * runs.state["full"]).all()
    assert runs.state["full"].iloc[-1] == runs.queue["dropped"].iloc[-1] > 0
    assert html_report.main([str(out), "--out", str(tmp_path / "r.html")]) == 0
    assert '"twice":[' in (tmp_path / "r.html").read_text()
