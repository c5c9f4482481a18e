# SPDX-License-Identifier: GPL-2.0
"""Say whether this machine can run the lab, how fast it is, and whether it gives the known bytes.

`tools/sch-aqm-doctor` is another one: it examines installed modules on a machine that uses them.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from aqmlab.run import execute
from labkit import bundle
from labkit.errors import LabError
from labkit.job import scratch_base
from labkit.paths import BUNDLE, KIT
from labkit.usage import Parser

from .start import EXTRAS

#: Digests of RUN by edition of the lab and release of the kernel.
DIGESTS = Path(__file__).with_name("digests.json")
#: 20 flows with random drops: almost any difference of the guest changes its digest.
RUN = [
    *("dumbbell", "--qdisc", "pie limit 200", "--set", "flows=20", "--set", "rate=20"),
    *("--set", "duration=4", "--set", "warmup=1"),
]
#: CPU seconds of RUN on the machine of the authors.
USUAL_S = 0.3
#: Bytes of memory that a guest uses at most, if no scenario asks for more.
MEMORY = 2 << 30

Finding = tuple[str, bool | None, str]


def machine() -> Iterator[Finding]:
    """Yield what can be seen without a run: name, whether it is good (None: neither), and why."""
    system = f"{platform.system()} on {platform.machine()}"
    able = (platform.system(), platform.machine()) == ("Linux", "x86_64")
    yield "machine", able, f"{system}, {execute.machine()['processor']}"
    meminfo = Path("/proc/meminfo")
    free = 0
    if meminfo.exists():
        lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        free = int(lines["MemAvailable"].split()[0]) << 10
    yield "memory", free >= MEMORY, f"{free / 2**30:.1f} GiB are free; a guest may use 2"
    try:
        yield "directory of guests", True, str(scratch_base(MEMORY // 4))
    except LabError as error:
        yield "directory of guests", False, str(error)
    for package, extra in sorted(EXTRAS.items()):
        found = importlib.util.find_spec(package) is not None
        yield package, found or None, "" if found else f"pip install 'sch-aqm[{extra}]'"
    missing = [name for name in ("gcc", "make", "ld") if not shutil.which(name)]
    if BUNDLE and not KIT:
        missing.append(bundle.GET_KIT)
    yield "own modules", None if missing else True, f"missing: {', '.join(missing)}" * bool(missing)


def trial() -> Iterator[Finding]:
    """Yield what a short run shows."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "run"
        command = [sys.executable, "-P", "-m", "aqmlab", "run", *RUN, "--out", str(out)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            yield "a run", False, done.stderr.strip()
            return
        result = json.loads((out / "result.json").read_text())
    used = result["cpu_seconds"]
    yield "a run", True, f"{used:.1f} s of CPU time; {USUAL_S} s on our machine"
    kernel = result["kernel"]
    known = json.loads(DIGESTS.read_text()).get(str(execute.EDITION), {}).get(kernel)
    if known is None:
        yield (
            "its bytes",
            None,
            f"no digest is known for Linux {kernel} in edition {execute.EDITION}",
        )
    else:
        same = result["digest"] == known
        yield "its bytes", same, "as expected" if same else f"{result['digest']}, not {known}"


def main() -> int:
    """Print all findings. Return 1 if one of them keeps the lab from working."""
    Parser(
        "doctor",
        "Say whether this machine can run the lab, how fast it is, and whether a short "
        "run gives the known bytes. (tools/sch-aqm-doctor examines installed modules.)",
        "",
        "",
    ).parse_args()
    bad = False
    for part in (machine, trial):
        for name, good, why in part():
            bad |= good is False
            state = {True: "ok", False: "BAD", None: "-"}[good]
            print(f"{name:20} {state:4} {why}".rstrip(), flush=True)
    return int(bad)
