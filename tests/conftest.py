# SPDX-License-Identifier: GPL-2.0
"""In which order the tests run, and how much CPU time they took."""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Generator, Iterator

import pytest

CPU = "cpu_seconds"
LONGEST = 15


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes more than a minute begins first, each by itself; what is left goes by files, for
    the tests of a file share what they have set up. So no process is idle at the end for long."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    for item in items:
        if not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def cpu_seconds() -> float:
    """Of this process and of those that it has waited for, guests included."""
    return sum(usage.ru_utime + usage.ru_stime for usage in
               map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note a test's CPU time, its fixtures' included, where the last of its reports finds it."""
    item.stash[BEGAN] = cpu_seconds()
    return (yield)


BEGAN = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the CPU time into the report of the tear-down."""
    report = yield
    if report.when == "teardown":
        report.user_properties.append((CPU, cpu_seconds() - item.stash[BEGAN]))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A table: the files that took most."""
    spent: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == CPU:
                    spent[report.nodeid.partition("::")[0]] += value
    total = sum(spent.values())
    if total < 60:
        return
    terminalreporter.section("CPU time")
    for name, seconds in sorted(spent.items(), key=lambda entry: -entry[1])[:LONGEST]:
        terminalreporter.write_line(f"{seconds:8.0f} s  {name}")
    terminalreporter.write_line(f"{total:8.0f} s  in all")
