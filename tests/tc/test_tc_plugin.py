# SPDX-License-Identifier: GPL-2.0
"""The tc plugins in the distribution's tc, and in a tc that exports few functions.

No kernel is involved. ``kernel.c`` is preloaded into tc, stores the discipline that tc creates, and
returns it when tc asks.
"""

from __future__ import annotations

import json
import random
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aqmlab.qdiscs import interface

HERE = Path(__file__).parent
TOP = HERE.parent.parent
TC = TOP / "tc"
TC_PATH = {"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}
KINDS = sorted(path.stem.removeprefix("q_") for path in TC.glob("q_*.c"))
U32 = 2**32 - 1
GIVEN, ASSUMED = 2, 3  # attributes of every discipline: masks of options
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@dataclass(frozen=True)
class Tc:
    """tc with our plugins and without a kernel. ``state`` is the file with the discipline."""

    plugins: Path
    kernel: Path
    small: Path
    state: Path

    def run(self, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run the distribution's tc."""
        environment = {
            **TC_PATH,
            "TC_LIB_DIR": str(self.plugins),
            "LD_PRELOAD": str(self.kernel),
            "TC_STATE": str(self.state),
            **extra,
        }
        return subprocess.run(
            ["tc", *words], capture_output=True, text=True, check=False, env=environment
        )

    def add(self, kind: str, words: str) -> subprocess.CompletedProcess[str]:
        """Add a discipline to lo, which has no speed."""
        return self.run("qdisc", "add", "dev", "lo", "root", "handle", "1:", kind, *words.split())

    def refusal(self, kind: str, words: str) -> str:
        """Return tc's error message for a command that it refuses without sending anything."""
        self.state.unlink(missing_ok=True)
        done = self.add(kind, words)
        assert done.returncode == 1, words
        assert not self.state.exists(), f"{words}: refused, but sent"
        return done.stderr

    def options(self, kind: str, words: str) -> str:
        """Return the options that tc then shows as text."""
        done = self.add(kind, words)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        text = self.run("qdisc", "show").stdout
        head = f"qdisc {kind} 1: dev lo root refcnt 0 "
        assert text.startswith(head), text
        return text.removeprefix(head).strip()

    def json(self, **extra: str) -> dict[str, Any]:
        """Return what tc then shows of the discipline in JSON."""
        (shown,) = json.loads(self.run("-s", "-j", "qdisc", "show", **extra).stdout)
        return dict(shown)

    def sent(self, kind: str, words: str) -> dict[int, bytes]:
        """Return the attributes of TCA_OPTIONS that tc has sent."""
        assert self.add(kind, words).returncode == 0, words
        message = self.state.read_bytes()
        outer = attributes(message[16 + 20 :])
        return attributes(outer[2])


def attributes(data: bytes) -> dict[int, bytes]:
    """Return netlink attributes by type."""
    found = {}
    while data:
        length, kind = struct.unpack_from("=HH", data)
        assert length >= 4, data
        found[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found


def set_up(tc: Tc, kind: str, options: dict[int, bytes]) -> None:
    """Store a discipline with these attributes for tc."""

    def attribute(number: int, content: bytes) -> bytes:
        return struct.pack("=HH", 4 + len(content), number) + content + bytes(-len(content) % 4)

    nest = b"".join(attribute(number, value) for number, value in options.items())
    body = tc.state.read_bytes()[16:36] + attribute(1, kind.encode() + b"\0") + attribute(2, nest)
    tc.state.write_bytes(struct.pack("=I", 16 + len(body)) + tc.state.read_bytes()[4:16] + body)


def build(output: Path, *words: str | Path, cc: str = "cc") -> None:
    """Compile a program for a test."""
    subprocess.run([cc, *WARNINGS, "-o", output, *words], check=True)


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("plugins")
    subprocess.run(["make", "-s", "-C", TC, f"PLUGINS_DIR={where}"], check=True)
    return where


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build kernel.so, small_tc, and the plugins with sanitizers."""
    where = tmp_path_factory.mktemp("programs")
    build(where / "kernel.so", "-fPIC", "-shared", HERE / "kernel.c", "-ldl")
    build(
        where / "small_tc",
        *SANITIZERS,
        f"-I{TC}",
        f"-Wl,--dynamic-list={HERE}/openwrt.list",
        HERE / "small_tc.c",
        "-ldl",
    )
    subprocess.run(
        ["make", "-s", "-C", TC, f"PLUGINS_DIR={where}", f"CFLAGS={' '.join(SANITIZERS)}"],
        check=True,
    )
    return where


@pytest.fixture
def tc(plugins: Path, programs: Path, tmp_path: Path) -> Tc:
    return Tc(plugins, programs / "kernel.so", programs / "small_tc", tmp_path / "state")


# ---- input ----

# (kind, words, output). Input may have units, percentages, hexadecimal numbers and names. tc prints
# the largest unit without rounding, and only options that were given.
UNDERSTOOD = [
    ("qsdrr", "", ""),
    ("qsdrr", "limit 100", "limit 100p"),
    ("qsdrr", "limit 100p", "limit 100p"),
    ("qsdrr", "limit 0x10", "limit 16p"),
    ("qsdrr", "limit 010", "limit 10p"),
    ("qsdrr", "memory_limit 32mb quantum 1.5KB", "memory_limit 32Mb quantum 1536b"),
    ("qsdrr", "memory_limit 8kbit", "memory_limit 1Kb"),
    ("qsdrr", "memory_limit 0x400", "memory_limit 1Kb"),
    ("qsdrr", "nohysteresis", "nohysteresis"),
    ("qsdrr", "quantum auto", ""),
    ("qsdrr", "limit 7 auto quantum 1514b flows 1024 assumed bandwidth 1Gbit", "limit 7p"),
    ("qsdrr", "auto limit 99999999999", ""),
    ("tdrr", "time_constant 0.1s", "time_constant 100ms"),
    ("tdrr", "time_constant 1500", "time_constant 1500us"),
    ("tdrr", "time_constant 5000us", "time_constant 5ms"),
    ("chokex", "bandwidth 10mbit", "bandwidth 10Mbit"),
    ("chokex", "bandwidth 1.5Gbit", "bandwidth 1500Mbit"),
    ("chokex", "bandwidth 1250kbps", "bandwidth 10Mbit"),
    ("chokex", "bandwidth 8kibit", "bandwidth 8192bit"),
    ("chokex", "bandwidth 1000000000001bps", "bandwidth 8000000000008bit"),
    ("chokex", "probability 2% weight 0.002", "probability 0.02 weight 0.002"),
    ("chokex", "probability 100%", "probability 1"),
    ("chokex", "ecn nodrop", "ecn nodrop"),
    ("chokex", "ecn drop", "ecn drop"),
    ("cbt", "dscp ef", "dscp ef"),
    ("cbt", "dscp 46,AF41,cs1,3", "dscp 3,cs1,af41,ef"),
    ("cbt", "dscp none", "dscp none"),
    ("cbt", "dscp be,0x2e", "dscp cs0,ef"),
    ("cbt", "mark 7", "mark 0x7/0xffffffff"),
    ("cbt", "mark 0x10/0xf0", "mark 0x10/0xf0"),
    ("cbt", "min 1.5 max 20p", "min 1.5p max 20p"),
    ("cbt", "red all victim arrival", "red all victim arrival"),
    ("redtail", "bandwidth 8mbit limit 100ms", "bandwidth 8Mbit limit 100000b"),
    ("redtail", "limit 100ms bandwidth 8mbit", "bandwidth 8Mbit limit 100000b"),
    ("redtail", "max1 10kb share_min 20%", "max1 10Kb share_min 0.2"),
    ("2regionred", "rtt 0.02s target 7", "rtt 20ms target 7p"),
    ("2regionred", "estimator ewma-drain", "estimator ewma-drain"),
]


@pytest.mark.parametrize(("kind", "words", "shown"), UNDERSTOOD)
def test_input_is_parsed_and_shown(kind: str, words: str, shown: str, tc: Tc) -> None:
    assert tc.options(kind, words) == shown


def test_derived_options_are_shown_after_auto(tc: Tc) -> None:
    """The kernel's dump has all values in force, and masks of given and assumed ones."""
    number = {option.name: option.attribute for option in interface.read("chokex").options}

    def mask(*names: str) -> bytes:
        return struct.pack("=Q", sum(1 << number[name] for name in names))

    tc.add("chokex", "")
    dump = {
        number["limit"]: struct.pack("=I", 100),
        number["min"]: struct.pack("=I", 33),
        number["bandwidth"]: struct.pack("=Q", 125_000_000),
        number["gentle"]: b"\1",
        number["ecn"]: b"\0",
        number["harddrop"]: b"\0",
        GIVEN: mask("limit", "harddrop"),
        ASSUMED: mask("bandwidth"),
    }
    set_up(tc, "chokex", dump)
    shown = tc.run("qdisc", "show").stdout.split(" refcnt 0 ")[1].strip()
    assert shown == "limit 100p noharddrop auto min 33p gentle assumed bandwidth 1Gbit"
    assert tc.json()["options"] == {
        "limit": 100,
        "min": 33,
        "bandwidth": 125_000_000,
        "gentle": True,
        "ecn": False,
        "harddrop": False,
        "given": ["limit", "harddrop"],
        "derived": ["min", "bandwidth"],
        "assumed": ["bandwidth"],
    }
    assert tc.sent("chokex", shown) == {
        number["limit"]: dump[number["limit"]],
        number["harddrop"]: b"\0",
        GIVEN: dump[GIVEN],
    }


def test_rate_that_overflows_in_bits_is_shown_in_bytes(tc: Tc) -> None:
    tc.add("chokex", "bandwidth 8mbit")
    greatest = struct.pack("=Q", 2**63 - 1)
    tc.state.write_bytes(tc.state.read_bytes().replace(struct.pack("=Q", 1_000_000), greatest))
    assert "bandwidth 9223372036854775807bps " in tc.run("qdisc", "show").stdout
    assert tc.json()["options"]["bandwidth"] == 2**63 - 1


# (kind, words, part of the message)
REFUSED = [
    ("qsdrr", "limit", '"limit" needs a value; allowed: 1 to 4294967295 packets'),
    ("qsdrr", "limit 0", '"limit 0" is not possible; allowed: 1 to 4294967295 packets'),
    ("qsdrr", "limit 4294967296", "not possible"),
    ("qsdrr", "limit 99999999999999999999", "not possible"),
    ("qsdrr", "limit -2", "not possible"),
    ("qsdrr", "limit +2", "not possible"),
    ("qsdrr", "limit 0x", "not possible"),
    ("qsdrr", "limit 1e3", "not possible"),
    ("qsdrr", "limit 7pp", "not possible"),
    ("qsdrr", "flows auto", "not possible"),
    ("qsdrr", "flows 7p", "not possible"),
    ("qsdrr", "memory_limit 4096mb", "allowed: 1b to 4294967295b"),
    ("qsdrr", "memory_limit 300.3", "not possible"),
    ("qsdrr", "memory_limit nan", "not possible"),
    ("qsdrr", "memory_limit inf", "not possible"),
    ("qsdrr", "memory_limit 1e400", "not possible"),
    ("qsdrr", "memory_limit 1kk", "not possible"),
    ("qsdrr", "memlimit 1mb", "did you mean memory_limit?"),
    ("qsdrr", "lim 7", "did you mean limit?"),
    ("qsdrr", "limt 7", "did you mean limit?"),
    ("qsdrr", "hystersis", "did you mean hysteresis?"),
    ("qsdrr", "limit 5 limit 5", '"limit" is given twice'),
    ("qsdrr", "limit 5 auto limit 6", '"limit" is given twice'),
    ("qsdrr", "auto limit", '"limit" needs a value'),
    ("qsdrr", "auto limit ten", '"limit ten" is not possible'),
    ("qsdrr", "auto 5", 'unknown option "5";'),
    ("qsdrr", "hysteresis nohysteresis", '"nohysteresis" contradicts "hysteresis"'),
    ("qsdrr", "hysteresis hysteresis", '"hysteresis" is given twice'),
    ("qsdrr", "nolimit 3", 'unknown option "nolimit";'),
    ("tdrr", "time_constant 1us", "allowed: 1ms to 100s"),
    ("tdrr", "time_constant 1000.5us", "not possible"),
    ("chokex", "drop nodrop", '"nodrop" contradicts "drop"'),
    ("chokex", "nonodrop", 'unknown option "nonodrop";'),
    ("chokex", "weight 0", '"weight 0" is not possible; allowed: above 0 to 1'),
    ("chokex", "weight 101%", "allowed: above 0 to 1"),
    ("chokex", "bandwidth fast", "allowed: 8bit to"),
    ("chokex", "bandwidth 50%", "the speed of lo is not known; give the rate itself"),
    ("cbt", "dscp 46 dscp 10", '"dscp" is given twice'),
    ("cbt", "mark 1 mark 2", '"mark" is given twice'),
    ("cbt", "dscp 64", "allowed: none, or names (ef, af41, cs1) and numbers from 0 to 63"),
    ("cbt", "dscp ef,", "not possible"),
    ("cbt", "dscp ,ef", "not possible"),
    ("cbt", "dscp", '"dscp" needs a value'),
    ("cbt", "mark 3/2", "no bit of the value outside the mask"),
    ("cbt", "mark 1/", "not possible"),
    ("cbt", "mark 0x100000000", "not possible"),
    ("redtail", "limit 10ms", "is a time: give the bandwidth too"),
    ("redtail", "key addr", "allowed: addresses | flow"),
    ("2regionred", "bandwidth 9tbit", "allowed: 8bit to 8.796Tbit"),
    ("2regionred", "bmax 0", "allowed: 1 to 16777215 packets, or auto"),
]


@pytest.mark.parametrize(("kind", "words", "message"), REFUSED)
def test_wrong_input_is_refused_with_a_message(kind: str, words: str, message: str, tc: Tc) -> None:
    said = tc.refusal(kind, words)
    assert message in said
    assert said.startswith((f"{kind}: ", '"bandwidth'))
    assert said.count("\n") <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_greatest_value_that_a_message_names_is_allowed(kind: str, tc: Tc) -> None:
    named = 0
    for option in interface.read(kind).options:
        said = tc.refusal(kind, f"{option.name} -1")
        if greatest := re.search(r"allowed: .* to ([^\s,]+)", said):
            named += 1
            assert "not possible" not in tc.add(kind, f"{option.name} {greatest[1]}").stderr
    assert named > 3


def test_percentage_is_relative_to_the_devices_speed(tc: Tc) -> None:
    words = ["qdisc", "add", "dev", "lo", "root", "handle", "1:", "2regionred", "bandwidth"]
    for percent, mbit in (("95%", 950), ("0.5%", 5), ("100%", 1000)):
        assert tc.run(*words, percent, TC_SPEED="1000").returncode == 0
        assert tc.json()["options"]["bandwidth"] == mbit * 125_000
    for percent, speed in (("101%", "1000"), ("95%", "-1"), ("95%", "0"), ("95%", "nonsense")):
        assert tc.run(*words, percent, TC_SPEED=speed).returncode == 1


@pytest.mark.parametrize("kind", KINDS)
def test_help_lists_all_options(kind: str, tc: Tc) -> None:
    said = tc.refusal(kind, "help")
    assert said.startswith(f"Usage: ... {kind} ")
    assert said.endswith(f"\nman tc-{kind}\n")
    assert max(map(len, said.splitlines())) <= 80
    entries = re.split(r"\n  (?=\S)", said.removesuffix(f"\nman tc-{kind}\n"))[1:]
    options = interface.read(kind).options
    assert len(entries) == len(options)
    for entry, option in zip(entries, options, strict=True):
        plain = " ".join(entry.split())
        assert plain.split()[0] in {option.name, f"[no]{option.name.removeprefix('no')}"}
        assert option.help in plain
        if option.type not in ("FLAG", "CHOICE"):
            assert re.match(r"\w+ [A-Z/]+ ", plain), plain
            assert " to " in plain, plain
        default = plain.rsplit("default ", 1)[1]
        if option.default is None:
            assert default == "auto"
        else:
            assert (
                tc.add(
                    kind, f"{option.name} {default}" if option.type != "FLAG" else default
                ).returncode
                == 0
            )


def values(option: interface.Option, rng: random.Random) -> int:
    """Return an allowed value of an option, often an extreme one."""
    middle = rng.randint(option.least, option.greatest)
    small = min(option.greatest, option.least + rng.randint(0, 999))
    return rng.choice([option.least, option.greatest, small, middle])


def word(option: interface.Option, value: int) -> str:
    """Return a value as a user would type it, in the unit of the list of options."""
    match option.type:
        case "FLAG":
            return "" if value else "no"
        case "CHOICE":
            return option.unit.split("|")[value]
        case "RATE":
            return f"{value}bps"
        case "TIME":
            return f"{value}us"
        case "FRACTION":
            return f"{value / U32:.17f}"
        case "PACKETS_Q8":
            return f"{value / 256:.8f}"
        case "CODEPOINTS":
            return ",".join(str(n) for n in range(64) if value >> n & 1) or "none"
        case "MASKED":
            mask = value >> 32
            return f"{value & mask:#x}/{mask:#x}"
        case _:
            return str(value)


def packed(option: interface.Option, value: int) -> bytes:
    """Return the attribute that tc must send for a value."""
    match option.type:
        case "FLAG" | "CHOICE":
            return struct.pack("=B", value)
        case "RATE" | "CODEPOINTS":
            return struct.pack("=Q", value)
        case "MASKED":
            mask = value >> 32
            return struct.pack("=II", value & mask, mask)
        case _:
            return struct.pack("=I", value)


def line(options: Sequence[interface.Option], given: dict[str, int]) -> str:
    """Return the words for some options."""
    words = []
    for option in options:
        if option.name in given:
            text = word(option, given[option.name])
            if option.type == "FLAG":
                off = option.name[2:] if option.name.startswith("no") else f"no{option.name}"
                words.append(off if text else option.name)
            else:
                words.append(f"{option.name} {text}")
    return " ".join(words)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_sent_exactly_and_the_output_is_valid_input(kind: str, tc: Tc) -> None:
    seed = 20
    rng = random.Random(f"{kind} {seed}")
    options = interface.read(kind).options
    for _ in range(25):
        chosen = [option for option in options if rng.random() < 0.6]
        given = {option.name: values(option, rng) for option in chosen}
        words = line(chosen, given)
        sent = tc.sent(kind, words)
        assert sent == {o.attribute: packed(o, given[o.name]) for o in chosen}, words
        shown = tc.options(kind, words)
        assert tc.sent(kind, shown) == sent, f"{words} is shown as {shown}"
        if chosen:
            check_json(tc.json()["options"], chosen, given)


def check_json(
    shown: dict[str, Any], chosen: list[interface.Option], given: dict[str, int]
) -> None:
    """Check JSON: numbers have base units, and fractions are exact when read back."""
    names = [option.name for option in chosen]
    if "mark" in names:
        names.insert(names.index("mark") + 1, "mark_mask")
    assert list(shown) == names
    for option in chosen:
        value, got = given[option.name], shown[option.name]
        match option.type:
            case "FLAG":
                assert got is bool(value)
            case "CHOICE":
                assert got == option.unit.split("|")[value]
            case "FRACTION":
                assert round(got * U32) == value
            case "PACKETS_Q8":
                assert round(got * 256) == value
            case "CODEPOINTS":
                assert got == [n for n in range(64) if value >> n & 1]
            case "MASKED":
                assert (got, shown["mark_mask"]) == (value & value >> 32, value >> 32)
            case _:
                assert got == value


# ---- statistics ----


def stats_file(tmp_path: Path, kind: str, which: int, data: bytes) -> Path:
    path = tmp_path / f"{kind}-{which}"
    path.write_bytes(struct.pack("=II", which, 0) + data)
    return path


def test_statistics_in_text_have_units(tc: Tc, tmp_path: Path) -> None:
    """The statistics of 2regionred have packets, times, rates, bytes, and a phase with a name."""
    common = struct.pack(
        "=6Q4I5Q",
        12_500_000,
        1_500_000,
        1_500_000,
        999,
        2_000_000_000,
        4_096,
        125,
        0,
        3_145_728,
        3,
        4,
        5,
        6,
        7,
        8,
    )
    own = struct.pack("=4Q", 3 << 31, 10 << 32, 1, 83 << 32)
    rest = struct.pack("=8I12Q", 2, 6, 18, 19, 41, 7, 12_345, 10, *range(20, 32))
    path = stats_file(tmp_path, "2regionred", 0, common + own + rest)
    tc.add("2regionred", "")
    text = tc.run("-s", "qdisc", "show", TC_STATS=str(path)).stdout
    for shown in (
        "bandwidth 100Mbit",
        "link_refused 12Mbit",
        "delay 1.5ms",
        "delay_avg 999ns",
        "delay_max 2s",
        "limit 125",
        "dropped_bytes 4Kb",
        "bandwidth_source assumed",
        "memory_used 3Mb",
        "marked 4",
        "spared 5",
        "drop_limit 6",
        "drop_memory 7",
        "drop_change 8",
        "q_est 1.5p",
        "ppd 10p",
        "window 2.32831e-10p",
        "pipe 83p",
        "phase low",
        "bmin 6",
        "hold_off 12.35ms",
        "entered_quiet 20",
        "marked_max 31",
    ):
        assert re.search(rf"(?<!\S){re.escape(shown)}(?!\S)", text), shown
    assert max(map(len, text.splitlines())) <= 80
    shown_json = tc.json(TC_STATS=str(path))
    assert shown_json["phase"] == "low"
    assert shown_json["bandwidth"] == 12_500_000
    assert shown_json["delay"] == 1_500_000
    assert shown_json["window"] == 2**-32
    assert shown_json["q_est"] == 1.5


@pytest.mark.parametrize("which", [0, 1], ids=["discipline", "class"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_statistic_is_shown_under_its_name(
    kind: str, which: int, tc: Tc, tmp_path: Path
) -> None:
    """Each member of the struct gets a different value, at the compiler's offset."""
    name = ("qdisc", "class")[which]
    known = (interface.read(kind).qdisc, interface.read(kind).cls)[which]
    if not known:
        pytest.skip(f"{kind} has no statistics for classes")
    source = tmp_path / "offsets.c"
    members = [s.name for s in known]
    source.write_text(
        f"#include <stddef.h>\n#include <stdio.h>\n#include <linux/pkt_sched_{kind}.h>\n"
        f"#define S struct tc_{kind}_{name}_stats\nint main(void)\n{{\n"
        + "".join(
            f'printf("%zu %zu\\n", offsetof(S, {m}), sizeof(((S *)0)->{m}));\n' for m in members
        )
        + 'printf("%zu 0\\n", sizeof(S));\n}\n'
    )
    build(tmp_path / "offsets", f"-I{TOP / 'include/uapi'}", source)
    out = subprocess.run([tmp_path / "offsets"], capture_output=True, text=True, check=True).stdout
    layout = [(int(at), int(size)) for at, size in map(str.split, out.splitlines())]
    assert [(s.offset - 8, s.size) for s in known] == layout[:-1]

    data = bytearray(layout[-1][0])
    want: dict[str, int] = {}
    for n, (statistic, (at, size)) in enumerate(zip(known, layout[:-1], strict=True), 1):
        value = 1 if statistic.show in ("FLAG", "CHOICE") else n * 0x1234567
        value = -value if statistic.signed else value
        data[at : at + size] = value.to_bytes(size, sys.byteorder, signed=statistic.signed)
        if statistic.show != "HIDDEN":
            want[statistic.name] = value
    path = stats_file(tmp_path, kind, which, bytes(data))
    tc.add(kind, "")

    def check(names: set[str]) -> None:
        """Check that tc shows these statistics, in JSON only for qdiscs (as in Debian 12)."""
        if which:
            text = tc.run("-s", "class", "show", "dev", "lo", TC_STATS=str(path), TC_CLASS="1")
            assert text.stdout.startswith(f"class {kind} 1:1 root")
            words = text.stdout.split()[4:]
            assert names == {s.name for s in known if s.name in words}
            for s in known:
                if s.show in ("EVENTS", "COUNT") and s.name in names:
                    assert words[words.index(s.name) + 1] == str(want[s.name])
            return
        found = tc.json(TC_STATS=str(path))
        assert names == set(found) & set(want)
        for s in known:
            if s.name in names:
                assert found[s.name] == s.value(want[s.name]), s

    check(set(want))
    # A newer kernel sends more statistics. An older one sends fewer, and tc omits the rest.
    path.write_bytes(path.read_bytes() + bytes(32))
    check(set(want))
    some = known[len(known) // 2]
    path.write_bytes(path.read_bytes()[: some.offset + some.size - 1])
    check({s.name for s in known if s.offset < some.offset})
    path.write_bytes(b"")
    check(set())


# ---- a tc that exports few functions ----

# Functions that OpenWrt's tc exports, and that each plugin needs.
NEEDED = {"addattr_l", "addattr_nest", "addattr_nest_end", "parse_rtattr_flags"}


def symbols(path: str | Path, kinds: str) -> set[str]:
    out = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
    return {name.partition("@")[0] for name in re.findall(rf" [{kinds}] (\S+)", out)}


@pytest.mark.parametrize("kind", KINDS)
def test_tc_with_ten_exported_symbols_runs_the_plugin(
    kind: str, tc: Tc, programs: Path, tmp_path: Path
) -> None:
    """This runs options, help and statistics in text with sanitizers."""
    exported = set(re.findall(r"\w+(?=;)", (HERE / "openwrt.list").read_text()))
    assert exported <= symbols(tc.small, "TWBD")
    assert not {"is_json_context", "get_rate64"} & symbols(tc.small, "TWBD")

    def small(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [tc.small, programs, kind, *words], capture_output=True, text=True, check=False
        )

    rng = random.Random(f"{kind} 7")
    options = interface.read(kind).options
    for _ in range(5):
        words = line(options, {option.name: values(option, rng) for option in options})
        done = small(*words.split())
        assert (done.returncode, done.stdout.strip()) == (0, tc.options(kind, words)), done.stderr
    asked = small("help")
    assert (asked.returncode, asked.stderr) == (1, tc.refusal(kind, "help"))
    for which, known in enumerate((interface.read(kind).qdisc, interface.read(kind).cls)):
        if known:
            path = stats_file(tmp_path, kind, which, bytes(range(256)))
            done = small(f"={path}")
            assert done.returncode == 0, done.stderr
            assert known[0].name in done.stdout
    for bad_kind, words, message in REFUSED:
        if bad_kind == kind:
            done = small(*words.split())
            assert (done.returncode, message in done.stderr) == (1, True), words


def test_plugins_need_only_four_functions_of_tc(plugins: Path) -> None:
    """Even a small tc exports ten functions."""
    declared = set(
        re.findall(r"(\w+)\((?=[a-z])[^{};*]*[^{};]*?\);", (TC / "tc_abi.h").read_text())
    )
    assert {"addattr_l", "print_color_u64", "is_json_context"} <= declared
    strong = {name for path in plugins.glob("*.so") for name in symbols(path, "U")}
    assert strong & declared == NEEDED
    where = subprocess.run(
        ["sh", "-c", "command -v tc"], capture_output=True, text=True, check=True, env=TC_PATH
    ).stdout.strip()
    weak = {name for path in plugins.glob("*.so") for name in symbols(path, "w")} & declared
    assert weak | NEEDED <= symbols(where, "TWi")


# ---- loading and installing ----


def test_kind_may_begin_with_a_digit(plugins: Path, tmp_path: Path) -> None:
    source = tmp_path / "q_9th.c"
    source.write_text(
        '#include "plugin.h"\n'
        "static const struct plugin_option none[] = { {} };\n"
        'PLUGIN_AS(ninth, "9th") = { .util = PLUGIN_UTIL("9th"), .options = none };\n'
    )
    words = [f"-I{TC}", f"-I{TOP / 'include/uapi'}", "-fPIC", "-shared", source, TC / "plugin.c"]
    for cc in ("gcc", "clang"):
        build(plugins / "q_9th.so", "-Wno-missing-field-initializers", *words, cc=cc)
        done = subprocess.run(
            ["tc", "qdisc", "add", "dev", "lo", "root", "9th", "help"],
            capture_output=True,
            text=True,
            check=False,
            env={**TC_PATH, "TC_LIB_DIR": str(plugins)},
        )
        assert done.stderr == "Usage: ... 9th [ OPTION ]...\nman tc-9th\n"
    (plugins / "q_9th.so").unlink()


@pytest.mark.parametrize("prefix", ["/usr", "/opt/x"])
def test_plugins_are_installed_where_tc_looks(prefix: str, plugins: Path, tmp_path: Path) -> None:
    arguments = [
        "make",
        "-s",
        "-C",
        TC,
        f"PLUGINS_DIR={plugins}",
        f"DESTDIR={tmp_path}",
        f"PREFIX={prefix}",
    ]
    subprocess.run([*arguments, "install"], check=True)
    installed = {path.parent for path in tmp_path.rglob("q_*.so")}
    assert len(installed) == 1
    where = "/" + str(installed.pop().relative_to(tmp_path))
    if prefix == "/usr":
        asked = subprocess.run(
            ["tc", "qdisc", "add", "dev", "lo", "root", "none", "help"],
            capture_output=True,
            text=True,
            check=False,
            env={**TC_PATH, "LD_DEBUG": "files"},
        ).stderr
        assert f"{where}/" in asked
    else:
        assert where == f"{prefix}/lib/tc"
    subprocess.run([*arguments, "uninstall"], check=True)
    assert not list(tmp_path.rglob("q_*.so"))


# ---- the lists themselves ----


@pytest.mark.parametrize("kind", KINDS)
def test_lists_follow_their_rules(kind: str) -> None:
    described = interface.read(kind)
    names = [option.name for option in described.options]
    assert len(set(names)) == len(names)
    for option in described.options:
        assert option.least <= option.greatest, option
        assert option.default is None or option.least <= option.default <= option.greatest, option
        assert option.default is not None or option.least >= 1, f"{option}: 0 means derived"
        if option.type == "CHOICE":
            assert option.greatest == option.unit.count("|"), option
    for statistics in (described.qdisc, described.cls):
        members = [statistic.name for statistic in statistics]
        assert len(set(members)) == len(members)
        assert all((s.offset % s.size) == 0 for s in statistics)
        assert not statistics or (statistics[-1].offset + statistics[-1].size) % 8 == 0
