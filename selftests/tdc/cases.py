#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Generate tdc's cases of our kinds from their tables.

    cases.py --write DIR [KIND]...

writes DIR/KIND.json, for tdc or for tools/testing/selftests/tc-testing/tc-tests/qdiscs of a kernel.

For each kind the cases prove:

- Without options, tc shows no given options, and the statistics show the values in force.
- The help text has each range and default.
- All options can be given at once, and tc's text output is valid input.
- A live change of an option keeps the others.
- tc refuses wrong values and the kernel refuses conflicts, each with a message.
- The qdisc can be replaced and deleted.

parents.sh tests the contract with parents. tests/tc tests the plugins' parser, and that the kernel
refuses values out of range.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from table import Case, Kind
from writer import Writer

HERE = Path(__file__).resolve().parent


def load(path: Path) -> Kind:
    """Load a table."""
    spec = importlib.util.spec_from_file_location(f"table_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kind = module.KIND
    assert isinstance(kind, Kind)
    assert kind.name == path.stem
    return kind


def as_tdc(kind: str, case: Case) -> dict[str, Any]:
    """Convert a case to tdc's format.

    The id depends only on the name. It is short, because it becomes part of device names.
    """
    verdict: dict[str, Any] = {"matchPattern": case.pattern, "matchCount": str(case.count)}
    if case.json is not None:
        verdict = {"matchJSON": case.json, "matchCount": "1"}
    return {
        "id": hashlib.blake2s(case.name.encode(), digest_size=3).hexdigest(),
        "name": case.name,
        "category": ["qdisc", kind, *(["smoke"] if case.smoke else [])],
        "plugins": {"requires": "nsPlugin"},
        "setup": list(case.setup),
        "cmdUnderTest": case.command,
        "expExitCode": str(case.status),
        "verifyCmd": case.show,
        **verdict,
        "teardown": [],
    }


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description="Generate tdc's cases of our kinds from their tables."
    )
    parser.add_argument("--write", metavar="DIR", type=Path, required=True, help="where to")
    parser.add_argument("kind", nargs="*", metavar="KIND", help="default: all kinds")
    asked = parser.parse_args()
    tables = {path.stem: path for path in sorted((HERE / "tables").glob("*.py"))}
    for name in asked.kind or tables:
        if name not in tables:
            parser.error(f'no table for "{name}"; choose from: {" ".join(tables)}')
        kind = load(tables[name])
        found = [as_tdc(name, case) for case in Writer(kind).cases()]
        asked.write.mkdir(parents=True, exist_ok=True)
        (asked.write / f"{name}.json").write_text(json.dumps(found, indent=4) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
