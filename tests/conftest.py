# SPDX-License-Identifier: GPL-2.0
"""Order the tests, and report their CPU time."""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Generator, Iterator

import pytest

CPU = "cpu_seconds"
LONGEST = 15


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start slow tests first, one by one, so that no process is idle at the end.

    The other tests run file by file, because the tests of a file share fixtures.
    """
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    for item in items:
        if not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all its finished children, with guests."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Store the CPU time at the start of a test, before its fixtures run."""
    item.stash[BEGAN] = cpu_seconds()
    return (yield)


BEGAN = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the CPU time of a test to the report of its tear-down."""
    report = yield
    if report.when == "teardown":
        report.user_properties.append((CPU, cpu_seconds() - item.stash[BEGAN]))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a table of the files that took the most CPU time."""
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
