# SPDX-License-Identifier: GPL-2.0
"""The OCI image of the lab is well-formed, and a scenario in it gives the digest of the host."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIRST_USE = ("first-use", "--set", "duration=5")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Return the unpacked image."""
    for program in ("mmdebstrap", "bwrap"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed: apt-get install mmdebstrap bubblewrap")
    subprocess.run([ROOT / "lab" / "image", tmp_path / "image.tar"], check=True, timeout=3000)
    with tarfile.open(tmp_path / "image.tar") as tar:
        tar.extractall(tmp_path / "image", filter="data")
    (tmp_path / "image.tar").unlink()
    return tmp_path / "image"


def blob(image: Path, descriptor: dict[str, Any]) -> Path:
    """Return a file of the image by its descriptor, which must tell its hash and size."""
    path = image / "blobs" / descriptor["digest"].replace(":", "/")
    with path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == path.name
    assert path.stat().st_size == descriptor["size"]
    return path


@pytest.mark.extra
def test_a_scenario_in_the_image_gives_the_digest_of_the_host(image: Path, tmp_path: Path) -> None:
    index = json.loads((image / "index.json").read_text())
    manifest = json.loads(blob(image, index["manifests"][0]).read_text())
    config = json.loads(blob(image, manifest["config"]).read_text())
    (layer,) = manifest["layers"]
    # docker 20.10 finds the same files by a list of its own.
    (listed,) = json.loads((image / "manifest.json").read_text())
    assert [image / name for name in (listed["Config"], *listed["Layers"])] == [
        blob(image, manifest["config"]),
        blob(image, layer),
    ]
    (root := tmp_path / "root").mkdir()
    subprocess.run(["tar", "-xzf", blob(image, layer), "-C", root], check=True)
    environment = [
        word for pair in config["config"]["Env"] for word in ("--setenv", *pair.split("=", 1))
    ]
    inside = subprocess.run(
        [
            "bwrap",
            "--unshare-user",
            "--uid",
            "0",
            "--gid",
            "0",
            "--unshare-pid",
            "--unshare-net",
            "--bind",
            root,
            "/",
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--tmpfs",
            "/dev/shm",
            "--tmpfs",
            "/tmp",
            "--chdir",
            config["config"]["WorkingDir"],
            "--clearenv",
            *environment,
            "run",
            *FIRST_USE,
            "--out",
            "/opt/first",
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert inside.returncode == 0, inside.stdout + inside.stderr
    subprocess.run(
        [ROOT / "netns-scenarios" / "run", *FIRST_USE, "--out", tmp_path / "first"],
        check=True,
        timeout=300,
    )
    digests = [
        json.loads((place / "first" / "result.json").read_text())["digest"]
        for place in (root / "opt", tmp_path)
    ]
    assert digests[0] == digests[1]
