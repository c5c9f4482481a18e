# SPDX-License-Identifier: GPL-2.0
"""Prove each defect and its patch in the lab.

    docs/upstream/check [NAME]...          all of them, if none is named

runs a defect's reproducer and its tdc cases on three kernels: the lab's as it is, the same with the
queue discipline replaced by a module from the same source, and with a module from the patched
source. Exit status 0: the first two have the defect, the third does not, and the patches apply.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from labkit import engines, kernels, modules, sources

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

#: The disciplines to build where a patch changes only a header.
QDISCS = {"vlan-mark": ["red", "fq_codel"]}

#: Takes the place of a discipline that is part of the kernel. The core's list of them begins at
#: pfifo_fast and goes on to pfifo, which is exported.
REPLACE = """
#include <linux/export.h>
#include <linux/string.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

static inline int replace_qdisc(struct Qdisc_ops *ops)
{
	struct Qdisc_ops *old = pfifo_qdisc_ops.next;

	while (old && strcmp(old->id, ops->id))
		old = old->next;
	if (old)
		unregister_qdisc(old);
	return register_qdisc(ops);
}
#define register_qdisc replace_qdisc
/* The kernel has them already. */
#undef EXPORT_SYMBOL
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL(symbol)
#define EXPORT_SYMBOL_GPL(symbol)
"""

KBUILD = """
obj-m := {objects}
ccflags-y := -include $(src)/replace.h -I$(srctree)/net/sched
LINUXINCLUDE := -I$(src)/include $(LINUXINCLUDE)
"""


def names() -> list[str]:
    """All directories here that have patches, or only tdc cases, for the kernel."""
    return sorted(
        {
            path.parent.name
            for path in (*HERE.glob("*/*.patch"), *HERE.glob("*/cases.py"))
            if "[PATCH iproute2" not in path.read_text()
        }
    )


def patches(name: str) -> list[Path]:
    """A defect's patches, in order."""
    return sorted((HERE / name).glob("*.patch"))


def copied(name: str, patched: bool) -> Path:
    """A directory with the kernel's files that the patches of NAME touch, patched or not."""
    tree = sources.ensure_source(engines.default_kernel()).tree
    copy = ROOT / "build" / "upstream" / f"{name}-{'patched' if patched else 'plain'}"
    shutil.rmtree(copy, ignore_errors=True)
    files = {
        file
        for patch in patches(name)
        for file in re.findall(r"^--- a/(\S+)", patch.read_text(), re.MULTILINE)
    }
    files |= {f"net/sched/sch_{qdisc}.c" for qdisc in QDISCS.get(name, [])}
    for file in files:
        (copy / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tree / file, copy / file)
    if patched:
        for patch in patches(name):
            subprocess.run(["patch", "-s", "-p1", "-F0", "-d", copy, "-i", patch], check=True)
    return copy


def module_files(name: str, patched: bool) -> list[Path]:
    """Modules of the disciplines that NAME is about, built for the lab's kernel."""
    tree = copied(name, patched)
    folder = tree.with_name(f"{tree.name}-module")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "include" / "net").mkdir(parents=True)
    for file in tree.glob("net/sched/sch_*.c"):
        shutil.copy(file, folder)
    for file in tree.glob("include/net/*.h"):
        shutil.copy(file, folder / "include" / "net")
    objects = " ".join(file.with_suffix(".o").name for file in folder.glob("*.c"))
    (folder / "Kbuild").write_text(KBUILD.format(objects=objects))
    (folder / "replace.h").write_text(REPLACE)
    kernel = kernels.ensure_uml(engines.default_kernel(), "fast")
    return sorted(modules.ensure_module(kernel, folder).glob("*.ko"))


def new_cases(name: str) -> Path:
    """A file with the tdc cases that NAME adds."""
    if (generator := HERE / name / "cases.py").exists():
        path = ROOT / "build" / "upstream" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(subprocess.run([generator], stdout=subprocess.PIPE, check=True).stdout)
        return path
    cases = []
    plain, patched = copied(name, patched=False), copied(name, patched=True)
    for file in patched.rglob("*.json"):
        old = json.loads((plain / file.relative_to(patched)).read_text())
        ids = {case["id"] for case in old}
        cases += [case for case in json.loads(file.read_text()) if case["id"] not in ids]
    path = patched.with_name(f"{name}.json")
    path.write_text(json.dumps(cases))
    return path


def run(command: str) -> int:
    """The exit status of a shell command in the lab; its output goes to standard error.

    99: tdc could not set a case up, which its status does not tell.
    """
    done = subprocess.run(
        [ROOT / "lab" / "boot", "--", "sh", "-c", command],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        cwd=ROOT,
    )
    print(done.stdout, file=sys.stderr, flush=True)
    return 99 if "Could not execute" in done.stdout else done.returncode


def check(name: str) -> bool:
    """Print what was found of one defect; returns whether it is as it should be.

    tdc cases without a reproducer pass on the kernel as it is.
    """
    cases = new_cases(name)
    if not (HERE / name / "reproduce").exists():
        status = run(f"selftests/tdc/run {cases}")
        print(f"{name}, the kernel as it is, selftests/tdc/run: exit status {status}", flush=True)
        return status == 0
    tried = [
        ("the kernel as it is", [], 1),
        ("a module of the same source", module_files(name, patched=False), 1),
        ("a module of the patched source", module_files(name, patched=True), 0),
    ]
    right = True
    for what, files, expected in tried:
        load = "".join(f"insmod {file} && " for file in files)
        for program in f"docs/upstream/{name}/reproduce", f"selftests/tdc/run {cases}":
            status = run(f"{load}{program}")
            right &= status == expected
            said = {0: "no defect", 1: "defect"}.get(status, f"exit status {status}")
            sure = "" if status == expected else ", WRONG"
            print(f"{name}, {what}, {program.partition(' ')[0]}: {said}{sure}", flush=True)
    return right


def main() -> int:
    """Check the defects named, or all."""
    subprocess.run(["make", "-s", "-C", ROOT / "selftests"], check=True)
    return 0 if all([check(name) for name in sys.argv[1:] or names()]) else 1


if __name__ == "__main__":
    sys.exit(main())
