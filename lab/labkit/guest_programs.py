# SPDX-License-Identifier: GPL-2.0
"""Build the static programs of a guest: ip and tc with all plugins, busybox, and our own.

With them a guest needs no file of the host, and the same versions run everywhere. They are built
from one Debian release, whatever the host's is.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import fetch
from .cache import built, digest, digest_files, files_under, mark
from .errors import need
from .paths import CACHE, LAB, ROOT
from .progress import run_logged
from .targets import X86, Target
from .toolchain import jobs, version

#: Debian's release of iproute2 and busybox.
SUITE = "bookworm"

#: Our programs of lab/traffic.
TRAFFIC = ("conduct", "flowgen", "inspace", "qsample", "record")

#: What iproute2's configure would write, without libraries. libmnl is our stand-in for it.
CONFIG = """\
PKG_CONFIG := false
YACC := bison
TC_CONFIG_NO_XT := y
CFLAGS += -DHAVE_SETNS -DHAVE_HANDLE_AT -DNEED_STRLCPY -DHAVE_LIBMNL -I$(LAB_SRC)
%.o: %.c
	$(QUIET_CC)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(CPPFLAGS) -c -o $@ $<
"""

LINK = ("-static", "-Wl,--gc-sections")
SYMBOLS = "static-syms.h"
#: Order of tc's objects. An order that differs between hosts gives other bytes in a guest with
#: counted instructions, because it moves tc's functions.
ORDER = "by name"
#: Files of ensure_iproute2() that make tc, and the directory of plugins that are compiled already.
TC_PARTS = ("tc.a", SYMBOLS, "libnetlink.a", "libutil.a")
READY = "plugins"


@dataclass(frozen=True)
class Plugin:
    """Describe a plugin of tc: its kind, its sources and the directories of its headers.

    generic: the source is tc/lab/generic.c, which serves any kind
    """

    kind: str
    sources: tuple[Path, ...]
    includes: tuple[Path, ...]
    generic: bool = False

    @property
    def symbol(self) -> str:
        """Return the name by which tc finds the plugin."""
        return f"{self.kind}_qdisc_util"

    @property
    def identifier(self) -> str:
        """Return a name for it in C, where no name begins with a digit."""
        return f"plugin_{self.kind}"

    def compile(self, folder: Path, log: Path, target: Target = X86) -> Path:
        """Compile it into FOLDER. Return the object, which hides all symbols but one."""
        words = [f'-DAQM_VERSION="{version()}"', *(f"-I{path}" for path in self.includes)]
        if self.generic:
            words += [f'-DKIND="{self.kind}"', f"-DKIND_UTIL={self.symbol}"]
        parts = [folder / f"{self.kind}-{source.stem}.o" for source in self.sources]
        for source, part in zip(self.sources, parts, strict=True):
            cc: list[str | Path] = [target.tool("cc"), "-O2", *words, "-c", "-o", part, source]
            run_logged(cc, log, f"compiling {source.name} for {self.kind}")
        whole = folder / f"{self.kind}.o"
        run_logged([target.tool("ld"), "-r", "-o", whole, *parts], log, f"linking {whole}")
        names = [f"--redefine-sym={self.symbol}={self.identifier}"]
        names.append(f"--keep-global-symbol={self.identifier}")
        run_logged([target.tool("objcopy"), *names, whole], log, f"hiding symbols of {whole}")
        return whole


def own_plugins() -> list[Plugin]:
    """Return the plugins of the checkout, those for the lab alone included."""
    tc = ROOT / "tc"
    engine = (tc / "plugin.c", tc / "version.c")
    uapi = (ROOT / "include" / "uapi", tc)
    ours = [
        Plugin(path.stem.removeprefix("q_"), (path, *engine), uapi)
        for path in sorted(tc.glob("q_*.c"))
    ]
    lab = [
        Plugin(path.stem.removeprefix("q_"), (path,), uapi)
        for path in sorted((tc / "lab").glob("q_*.c"))
    ]
    return [*ours, *lab, Plugin("tracelink", (tc / "lab" / "generic.c",), uapi, generic=True)]


def ensure_iproute2(target: Target = X86) -> Path:
    """Return the directory of iproute2's ip, and of all objects of its tc. Cached."""
    shim = files_under(LAB / "src" / "libmnl")
    key = digest(part.encode() for part in (CONFIG, SUITE, ORDER, target.compiler(), *LINK))
    place = CACHE / "tools" / f"iproute2-{digest_files(shim, LAB, key)}"
    return built(place, lambda made: build_iproute2(made, target))


def build_iproute2(path: Path, target: Target) -> None:
    """Build iproute2 and keep what is linked with plugins later."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    log = path / "log"
    archive = fetch.download_source("iproute2", SUITE)
    with tempfile.TemporaryDirectory() as scratch:
        run_logged(["tar", "-xf", archive, "-C", scratch], log, "unpacking iproute2")
        (tree,) = Path(scratch).iterdir()
        (tree / "config.mk").write_text(CONFIG)
        words = [
            *("SUBDIRS=lib ip tc", "SHARED_LIBS=n", "NETNS_RUN_DIR=/run/netns", "LIBDIR=/usr/lib"),
            f"LAB_SRC={LAB / 'src'}",
            *(f"CC={target.tool('cc')}", f"LDFLAGS={' '.join(LINK)}"),
            *((f"AR={target.tool('ar')}",) if target.prefix else ()),
            "CCOPTS=-O2 -ffunction-sections -fdata-sections",
        ]
        run_logged(["nice", "make", "-C", tree, f"-j{jobs()}", *words], log, "building iproute2")
        objects = sorted((tree / "tc").glob("*.o"))  # a file system has its own order
        objects = [file for file in objects if file.name != "static-syms.o"]
        run_logged([target.tool("ar"), "rcs", path / "tc.a", *objects], log, "keeping tc")
        for file in ("ip/ip", f"tc/{SYMBOLS}", "lib/libnetlink.a", "lib/libutil.a"):
            shutil.copy(tree / file, path)
    mark(path)


def link_tc(
    file: Path,
    more: Sequence[Plugin],
    log: Path,
    given: Path | None = None,
    target: Target = X86,
) -> None:
    """Write tc with the checkout's plugins and MORE to FILE.

    GIVEN has tc without its last link step, and compiled plugins instead of the checkout's.
    """
    parts = given or ensure_iproute2(target)
    ready = sorted((given / READY).glob("*.o")) if given else []
    plugins = [*([] if given else own_plugins()), *more]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        objects = [*ready, *(plugin.compile(folder, log, target) for plugin in plugins)]
        symbols = folder / "symbols.c"
        known = [Plugin(path.stem, (), ()) for path in ready]
        symbols.write_text(symbol_table([*known, *plugins]))
        command: list[str | Path] = [
            *(target.tool("cc"), "-O2", *LINK, f"-I{parts}", "-o"),
            *(file, symbols, *objects),
            *("-Wl,--whole-archive", parts / "tc.a", "-Wl,--no-whole-archive"),
            *("-Wl,--start-group", parts / "libnetlink.a", parts / "libutil.a", "-Wl,--end-group"),
            "-lm",
        ]
        run_logged(command, log, "linking tc")
    strip([file], log, target)


def symbol_table(plugins: Sequence[Plugin]) -> str:
    """Return the C file by which a static tc finds plugins by their names."""
    lines = [
        "#include <string.h>",
        "void *_dlsym(const char *sym);",
        "void *_dlsym(const char *sym)",
    ]
    lines.append("{")
    for plugin in plugins:
        lines += [
            f"\textern char {plugin.identifier}[];",
            f'\tif (!strcmp(sym, "{plugin.symbol}")) return {plugin.identifier};',
        ]
    return "\n".join([*lines, f'#include "{SYMBOLS}"', "\treturn NULL;", "}", ""])


def strip(programs: Sequence[Path], log: Path, target: Target = X86) -> None:
    """Remove what no guest needs from programs."""
    run_logged([target.tool("strip"), *programs], log, "stripping programs")


def ensure_package(package: str, target: Target = X86) -> Path:
    """Return the directory with the files of Debian's PACKAGE. Cached."""

    def make(place: Path) -> None:
        fetch.unpack_deb(fetch.download(package, (SUITE,), target.debian), place)
        mark(place)

    name = package.removesuffix("-static")
    ending = f"-{target.debian}" if target.prefix else ""
    return built(CACHE / "tools" / f"{name}-{SUITE}{ending}", make)


def ensure_busybox(target: Target = X86) -> Path:
    """Return Debian's static busybox. Cached."""
    return ensure_package("busybox-static", target) / "bin" / "busybox"


def build(tools: Path, folder: Path, log: Path, target: Target = X86) -> None:
    """Put all static programs into the directory FOLDER; ours are in TOOLS."""
    folder.mkdir()
    for name in TRAFFIC:
        shutil.copy(tools / name, folder)
    shutil.copy(ensure_iproute2(target) / "ip", folder)
    shutil.copy(ensure_busybox(target), folder)
    link_tc(folder / "tc", [], log, target=target)
    strip(sorted(folder / name for name in (*TRAFFIC, "ip")), log, target)
    for name in (*TRAFFIC, "ip", "tc", "busybox"):
        check_static(folder / name)


def check_static(program: Path) -> None:
    """Raise an AssertionError if a program needs a library of the host."""
    shown = subprocess.run(
        [need("readelf", "binutils"), "-d", program], capture_output=True, text=True, check=True
    ).stdout
    assert "NEEDED" not in shown, f"{program} needs a library: {shown}"
