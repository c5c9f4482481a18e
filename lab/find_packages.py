# SPDX-License-Identifier: GPL-2.0
"""Tell the virtual environment of this interpreter where our Python packages are.

The paths are relative. If build/venv of another checkout is a link to this virtual environment, it
finds the packages of that checkout.
"""

import os
import sysconfig
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
site = sysconfig.get_path("purelib")
folders = (os.path.relpath(TOP / folder, site) for folder in ("lab", "papers", "."))
(Path(site) / "sch-aqm.pth").write_text("".join(f"{folder}\n" for folder in folders))
