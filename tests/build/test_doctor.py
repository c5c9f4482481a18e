# SPDX-License-Identifier: GPL-2.0
"""sch-aqm-doctor names each fault, and only that, with its remedy.

It runs on a simulated machine of files below DOCTOR_ROOT, with the real modinfo and depmod, and
replaces the programs that would ask the kernel of this machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.errors import need

TOP = Path(__file__).resolve().parents[2]
KINDS = sorted(
    path.stem.removeprefix("sch_")
    for path in TOP.glob("sch_*.c")
    if not path.name.endswith(".mod.c")
)
KERNEL = "6.1.0-9-amd64"
OTHER = "6.1.0-8-amd64"
NET_ADMIN = 1 << 12

# tc looks for plugins in one directory, TC_LIB_DIR or its own; an empty one does not load.
TC = r"""#!/bin/sh
dir=${TC_LIB_DIR:-$DOCTOR_ROOT/usr/lib/x/tc}
case "$*" in
-V) echo "tc utility, iproute2-6.1.0" ;;
"-j -s qdisc show") cat "$DOCTOR_ROOT/qdiscs" ;;
*" help")
	[ -z "${LD_DEBUG:-}" ] || echo "  1: file=$dir//q_$6.so [0];  dynamically loaded by tc" >&2
	[ -s "$dir/q_$6.so" ] && echo "Usage: ... $6" >&2 && exit 255
	echo "Unknown qdisc \"$6\", hence option \"help\" is unparsable" >&2
	exit 1
	;;
*) [ ! -e "$DOCTOR_ROOT/refuse" ] || { cat "$DOCTOR_ROOT/refuse" >&2; exit 2; } ;;
esac
"""
MODPROBE = r"""#!/bin/sh
echo "$*" >>"$DOCTOR_ROOT/modprobe.log"
[ ! -e "$DOCTOR_ROOT/reject" ] || {
	echo "modprobe: ERROR: could not insert '$1': $(cat "$DOCTOR_ROOT/reject")" >&2
	exit 1
}
"""
PROGRAMS = {
    "tc": TC,
    "modprobe": MODPROBE,
    "uname": f"#!/bin/sh\necho {KERNEL}\n",
    "unshare": '#!/bin/sh\nshift\nexec "$@"\n',
    "id": '#!/bin/sh\ncat "$DOCTOR_ROOT/id"\n',
}


class Machine:
    """A simulated machine without faults."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment: dict[str, str] = {}
        self.plugins = root / "usr" / "lib" / "x" / "tc"
        self.updates = root / "lib" / "modules" / KERNEL / "updates"
        for name, text in PROGRAMS.items():
            self.write(f"bin/{name}", text).chmod(0o755)
        self.write("id", "0\n")
        self.write("qdiscs", "[]\n")
        self.write("proc/cmdline", "root=/dev/sda1 quiet\n")
        self.write("sys/module/module/parameters/sig_enforce", "N\n")
        self.write("sys/kernel/security/lockdown", "[none] integrity confidentiality\n")
        self.write(f"lib/modules/{KERNEL}/build/Makefile", "")
        self.capabilities(NET_ADMIN)
        self.module("aqm")
        for kind in KINDS:
            self.module(kind)
            self.write(f"usr/lib/x/tc/q_{kind}.so", "\0sch-aqm version 0.9\0")

    def write(self, name: str, text: str) -> Path:
        """Write TEXT into file NAME."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def capabilities(self, effective: int) -> None:
        """Set the capabilities of the process."""
        self.write("proc/self/status", f"Name:\tsh\nCapEff:\t{effective:016x}\nSeccomp:\t0\n")

    def module(
        self,
        kind: str,
        kernel: str = KERNEL,
        built_for: str = KERNEL,
        version: str = "0.9",
        protections: str = "",
    ) -> None:
        """Write a module with only the fields that modinfo reads."""
        facts = {
            "name": f"sch_{kind}",
            "version": version,
            "srcversion": "ABC",
            "vermagic": f"{built_for} SMP mod_unload",
        }
        if protections:
            facts["protections"] = protections
        text = "".join(f'"{key}={value}\\0"' for key, value in facts.items())
        code = f'const char info[] __attribute__((section(".modinfo"))) = {text};\n'
        folder = self.root / "lib" / "modules" / kernel / "updates"
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["cc", "-c", "-x", "c", "-", "-o", folder / f"sch_{kind}.ko"],
            input=code,
            text=True,
            check=True,
        )
        self.map(kernel)

    def map(self, kernel: str = KERNEL) -> None:
        """Do the steps of make install after copying."""
        subprocess.run(
            [need("depmod", "kmod"), "-b", self.root, kernel], check=True, stderr=subprocess.DEVNULL
        )

    def ask(self) -> tuple[int, str]:
        """Return the doctor's exit status and output."""
        environment = {name: value for name, value in os.environ.items() if name != "TC_LIB_DIR"}
        environment |= self.environment
        environment["DOCTOR_ROOT"] = str(self.root)
        environment["PATH"] = f"{self.root}/bin:{environment['PATH']}"
        done = subprocess.run(
            [TOP / "tools" / "sch-aqm-doctor"],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.returncode, done.stdout


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("healthy"))


@pytest.fixture
def machine(healthy: Machine, tmp_path: Path) -> Machine:
    shutil.copytree(healthy.root, tmp_path / "root", symlinks=True)
    copy = Machine.__new__(Machine)
    copy.__dict__ = {**healthy.__dict__, "root": tmp_path / "root", "environment": {}}
    copy.plugins = copy.root / "usr" / "lib" / "x" / "tc"
    copy.updates = copy.root / "lib" / "modules" / KERNEL / "updates"
    return copy


def test_healthy_machine_has_no_faults(machine: Machine) -> None:
    status, said = machine.ask()
    assert said.startswith(f"All is fine: {len(KINDS)} disciplines")
    assert status == 0


def test_module_loaded_by_the_doctor_is_unloaded_again(machine: Machine) -> None:
    machine.write("sys/module/sch_cbt/srcversion", "ABC\n")
    assert machine.ask()[0] == 0
    log = (machine.root / "modprobe.log").read_text().splitlines()
    unloaded = {line for line in log if line.startswith("-r")}
    assert unloaded == {f"-r sch_{kind}" for kind in KINDS if kind != "cbt"}


def test_kernel_without_the_fixes_of_2025_gets_a_note(machine: Machine) -> None:
    old_headers(machine)
    for kind in KINDS:
        machine.module(kind, protections="old_parents")
    status, said = machine.ask()
    assert status == 0
    note, _, rest = said.partition("All is fine")
    assert rest
    assert note.startswith("NOTE    This kernel lacks fixes of 2025")
    assert all(parent in note for parent in ("red", "sfb", "hfsc", "drr", "ets", "htb", "qfq"))


def test_kernel_with_the_fixes_of_2025_gets_no_note(machine: Machine) -> None:
    machine.write(
        f"lib/modules/{KERNEL}/build/include/net/sch_generic.h",
        "struct sk_buff *qdisc_dequeue_internal(struct Qdisc *sch, bool direct);\n",
    )
    status, said = machine.ask()
    assert status == 0
    assert said.startswith("All is fine")


def no_modules(m: Machine) -> None:
    shutil.rmtree(m.updates)
    m.map()


def no_modules_no_headers(m: Machine) -> None:
    no_modules(m)
    (m.root / "lib" / "modules" / KERNEL / "build" / "Makefile").unlink()


def no_frame(m: Machine) -> None:
    (m.updates / "sch_aqm.ko").unlink()
    m.map()


def modules_of_the_last_kernel(m: Machine) -> None:
    no_modules(m)
    for kind in KINDS:
        m.module(kind, OTHER, OTHER)


def dkms_has_not_built(m: Machine) -> None:
    no_modules(m)
    (m.root / "usr" / "src" / "sch-aqm-0.9").mkdir(parents=True)


def no_module_directory(m: Machine) -> None:
    shutil.rmtree(m.root / "lib" / "modules")


def no_map(m: Machine) -> None:
    kept = m.root / "kept"
    shutil.move(m.updates, kept)
    m.map()
    shutil.move(kept, m.updates)


def other_vermagic(m: Machine) -> None:
    m.module("qsdrr", built_for=OTHER)


def other_version(m: Machine) -> None:
    m.module("qsdrr", version="0.8")


def old_one_loaded(m: Machine) -> None:
    m.write("sys/module/sch_qsdrr/srcversion", "XYZ\n")


def only_the_version_is_old(m: Machine) -> None:
    """The sources of two versions may be equal."""
    m.write("sys/module/sch_qsdrr/srcversion", "ABC\n")
    m.write("sys/module/sch_qsdrr/version", "0.8\n")


def frame_is_old(m: Machine) -> None:
    m.write("sys/module/sch_aqm/srcversion", "ABC\n")
    m.write("sys/module/sch_aqm/version", "0.8\n")


def blacklisted(m: Machine) -> None:
    m.write("etc/modprobe.d/local.conf", "# no\nblacklist sch_qsdrr\n")


def install_false(m: Machine) -> None:
    m.write("etc/modprobe.d/local.conf", "install sch_qsdrr /bin/false\n")


def blacklisted_at_boot(m: Machine) -> None:
    m.write("proc/cmdline", "quiet module_blacklist=e1000,sch_qsdrr\n")


def secure_boot_unsigned(m: Machine) -> None:
    m.write("sys/kernel/security/lockdown", "none [integrity] confidentiality\n")


def key_rejected(m: Machine) -> None:
    m.write("reject", "Key was rejected by service")


def refused_format(m: Machine) -> None:
    m.write("reject", "Exec format error")


def refused_in_container(m: Machine) -> None:
    m.write("reject", "Operation not permitted")


def no_plugin(m: Machine) -> None:
    (m.plugins / "q_qsdrr.so").unlink()


def plugin_elsewhere(m: Machine) -> None:
    m.write("usr/local/lib/tc/q_qsdrr.so", "x")
    no_plugin(m)


def tc_lib_dir(m: Machine) -> None:
    m.environment["TC_LIB_DIR"] = "/nowhere"


def plugin_does_not_load(m: Machine) -> None:
    (m.plugins / "q_qsdrr.so").write_text("")


def json_broken(m: Machine) -> None:
    m.write("qdiscs", '[{"kind":"foo","options":{[Unknown qdisc, optlen=40] }}]\n')


def no_capability(m: Machine) -> None:
    m.capabilities(~NET_ADMIN & 0xFFFFFFFF)


def not_root(m: Machine) -> None:
    m.capabilities(0)
    m.write("id", "1000\n")


def no_tc(m: Machine) -> None:
    (m.root / "bin" / "tc").unlink()
    for tool in (
        "sh",
        "sed",
        "grep",
        "find",
        "cat",
        "ls",
        "tr",
        "sort",
        "head",
        "wc",
        "dirname",
        "git",
        "modinfo",
    ):
        (m.root / "bin" / tool).symlink_to(need(tool, tool))
    m.environment["PATH"] = str(m.root / "bin")


def kernel_refuses(m: Machine) -> None:
    m.write("refuse", "RTNETLINK answers: Invalid argument")


def old_headers(m: Machine) -> None:
    m.write(f"lib/modules/{KERNEL}/source/include/net/sch_generic.h", "struct Qdisc;\n")


#: How to break the machine, the expected message, the expected remedy.
BROKEN: list[tuple[Callable[[Machine], None], str, str]] = [
    (no_modules, f"no modules for Linux {KERNEL}", "make install"),
    (no_frame, "sch_aqm is missing", "make install"),
    (no_modules_no_headers, "headers are missing", f"apt-get install linux-headers-{KERNEL}"),
    (modules_of_the_last_kernel, f"There are some for {OTHER}", "make install"),
    (dkms_has_not_built, "no modules", f"dkms autoinstall -k {KERNEL}"),
    (no_module_directory, "no module directory", "reboot"),
    (no_map, "modprobe does not know", f"depmod {KERNEL}"),
    (other_vermagic, f"built for Linux {OTHER}, and {KERNEL} is running: qsdrr", "make install"),
    (old_headers, "built without the protections that it needs: ", "make install"),
    (other_version, "different versions: qsdrr (0.8, 0.9)", "upgrade both"),
    (old_one_loaded, "sch_qsdrr in the kernel (unknown version) is another", "-r sch_qsdrr"),
    (
        only_the_version_is_old,
        "in the kernel (0.8) is another one than the installed one (0.9)",
        "-r",
    ),
    (frame_is_old, "sch_aqm in the kernel (0.8) is another", "modprobe -r sch_aqm"),
    (blacklisted, "blacklisted by /etc/modprobe.d/local.conf", "modprobe sch_qsdrr"),
    (install_false, "blacklisted by /etc/modprobe.d/local.conf", "modprobe sch_qsdrr"),
    (blacklisted_at_boot, "blacklisted by the kernel's command line", "sch_qsdrr"),
    (secure_boot_unsigned, "not signed", "mokutil --import"),
    (key_rejected, '"Key was rejected by service"', "mokutil --import"),
    (refused_format, "built for another one", "make install"),
    (refused_in_container, "container", "outside"),
    (no_plugin, "tc has no plugins for: qsdrr", "iproute2-aqm"),
    (plugin_elsewhere, "plugins are in /usr/local/lib/tc", "export TC_LIB_DIR=/usr/local/lib/tc"),
    (tc_lib_dir, "TC_LIB_DIR=/nowhere", "unset TC_LIB_DIR"),
    (plugin_does_not_load, "cannot load them: qsdrr", "build them here"),
    (json_broken, "not JSON", "install the plugin"),
    (no_capability, "CAP_NET_ADMIN", "--cap-add NET_ADMIN"),
    (not_root, "not root", "sudo"),
    (no_tc, "no tc", "apt-get install iproute2"),
    (kernel_refuses, "Invalid argument", "dmesg"),
]


@pytest.mark.parametrize(
    ("damage", "sentence", "remedy"), BROKEN, ids=[row[0].__name__ for row in BROKEN]
)
def test_each_fault_is_reported_once_with_a_remedy(
    machine: Machine, damage: Callable[[Machine], None], sentence: str, remedy: str
) -> None:
    damage(machine)
    status, said = machine.ask()
    print(said)
    assert status == 1
    faults = [line for line in said.splitlines() if line.startswith("WRONG")]
    remedies = [line for line in said.splitlines() if line.startswith("        Remedy: ")]
    if damage is kernel_refuses:  # Each discipline may fail for a different reason.
        assert len(faults) == len(remedies) == len(KINDS)
    else:
        assert len(faults) == len(remedies) == 1
    assert sentence in faults[0]
    assert remedy in remedies[0]


def test_signed_modules_are_accepted_if_signatures_are_required(machine: Machine) -> None:
    """Append a signature as sign-file does. The kernel then checks the key."""
    secure_boot_unsigned(machine)
    modinfo = need("modinfo", "kmod")
    machine.write(
        "bin/modinfo",
        f'#!/bin/sh\ncase "$*" in *signer*) echo me ;; *) exec {modinfo} "$@" ;; esac\n',
    ).chmod(0o755)
    assert machine.ask()[0] == 0


def test_wrong_usage_has_its_own_exit_status(machine: Machine) -> None:
    doctor = TOP / "tools" / "sch-aqm-doctor"
    assert subprocess.run([doctor, "--what"], capture_output=True, check=False).returncode == 2
    done = subprocess.run([doctor, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Exit status" in done.stdout
