# SPDX-License-Identifier: GPL-2.0
"""tc plugins outside the lab: their shared helpers, and that tc can load what is built."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.selftests import TOP, parse_tap

TC = TOP / "tc"
CHECK = Path(__file__).parent / "plugin_check.c"
TC_PATH = {"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}
KINDS = sorted(path.stem.removeprefix("q_") for path in TC.glob("q_*.c"))


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("plugins")
    subprocess.run(["make", "-s", "-C", TC, f"PLUGINS_DIR={where}"], check=True)
    return where


def test_helpers(tmp_path: Path) -> None:
    program = tmp_path / "plugin_check"
    subprocess.run(
        [
            "cc", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
            "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
            f"-I{TC}", f"-I{TOP / 'include/uapi'}", CHECK, "-o", program,
        ],
        check=True,
    )  # fmt: skip
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    tap = parse_tap(done.stdout, done.returncode)
    assert not tap.failed
    assert len(tap.passed) > 45
    assert tap.status == 0


@pytest.mark.parametrize("kind", KINDS)
def test_tc_loads_the_plugin_and_it_has_help(kind: str, plugins: Path) -> None:
    """The kernel is not asked for help, so no lab is needed."""
    done = subprocess.run(
        ["tc", "qdisc", "add", "dev", "lo", "root", kind, "help"],
        capture_output=True, text=True, check=False, env={**TC_PATH, "TC_LIB_DIR": str(plugins)},
    )  # fmt: skip
    assert done.stderr.startswith(f"Usage: ... {kind} "), done.stderr
    assert done.returncode == 1


def test_a_kind_may_begin_with_a_digit(plugins: Path, tmp_path: Path) -> None:
    source = tmp_path / "q_9th.c"
    source.write_text(
        '#include "tc_plugin.h"\n'
        "static int parse(const struct qdisc_util *qu, int argc, char **argv,\n"
        "\t\t struct nlmsghdr *n, const char *dev)\n"
        "{ (void)dev; return plugin_parse(qu->id, (const struct plugin_option[]){ {} },\n"
        '\t"Usage: ... 9th\\n", argc, argv, n); }\n'
        'QDISC_UTIL_AS(ninth, "9th") = { .id = "9th", .parse_qopt = parse };\n'
    )
    subprocess.run(
        ["cc", f"-I{TC}", "-fPIC", "-shared", "-o", plugins / "q_9th.so", source], check=True
    )
    done = subprocess.run(
        ["tc", "qdisc", "add", "dev", "lo", "root", "9th", "help"],
        capture_output=True, text=True, check=False, env={**TC_PATH, "TC_LIB_DIR": str(plugins)},
    )  # fmt: skip
    assert done.stderr == "Usage: ... 9th\n"


def test_plugins_need_nothing_that_tc_lacks(plugins: Path) -> None:
    def symbols(path: str | Path, kinds: str) -> set[str]:
        out = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
        return set(re.findall(rf" [{kinds}] (\w+)", out))

    tc = subprocess.run(
        ["sh", "-c", "command -v tc"], capture_output=True, text=True, check=True, env=TC_PATH
    ).stdout.strip()
    header = (TC / "tc_plugin.h").read_text()
    declared = set(re.findall(r"^(?!static)[\w ]+[ *](\w+)\([^{]*?\);", header, re.MULTILINE))
    used = {name for path in plugins.glob("*.so") for name in symbols(path, "U")} & declared
    assert {"addattr_l", "print_color_u64", "parse_rtattr_flags"} <= used
    assert used <= symbols(tc, "TWi")


@pytest.mark.parametrize("prefix", ["/usr", "/opt/x"])
def test_install_puts_them_where_tc_looks(prefix: str, plugins: Path, tmp_path: Path) -> None:
    arguments = ["make", "-s", "-C", TC, f"PLUGINS_DIR={plugins}",
                 f"DESTDIR={tmp_path}", f"PREFIX={prefix}"]  # fmt: skip
    subprocess.run([*arguments, "install"], check=True)
    installed = {path.parent for path in tmp_path.rglob("q_*.so")}
    assert len(installed) == 1
    where = "/" + str(installed.pop().relative_to(tmp_path))
    if prefix == "/usr":
        asked = subprocess.run(
            ["tc", "qdisc", "add", "dev", "lo", "root", "none", "help"],
            capture_output=True, text=True, check=False, env={**TC_PATH, "LD_DEBUG": "files"},
        ).stderr  # fmt: skip
        assert f"{where}/" in asked
    else:
        assert where == f"{prefix}/lib/tc"
    subprocess.run([*arguments, "uninstall"], check=True)
    assert not list(tmp_path.rglob("q_*.so"))
