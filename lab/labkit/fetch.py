# SPDX-License-Identifier: GPL-2.0
"""Fetch Debian packages of other releases without changing the host's apt.

The host's own list of Debian mirrors is copied with another suite into a private directory
of the cache, with private package lists, so apt needs no root. Packages are unpacked there and
never installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .cache import lock
from .errors import LabError, need, say
from .paths import CACHE
from .targets import HOST_DEBIAN

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
#: Debian's archive, for hosts that are not Debian.
ARCHIVE = "http://deb.debian.org/debian"


@dataclass(frozen=True)
class Mirror:
    """Hold the address of a Debian archive and apt's options for it."""

    uri: str
    signed_by: str

    def stanza(self, suite: str, *, source: bool) -> str:
        """Return the mirror as an entry of apt's sources, for one SUITE and its SOURCE packages."""
        signed = f"Signed-By: {self.signed_by}\n" if self.signed_by else ""
        types = "deb-src" if source else "deb"
        return f"Types: {types}\nURIs: {self.uri}\nSuites: {suite}\nComponents: main\n{signed}"


def parse_sources(etc: Path) -> list[Mirror]:
    """Return the mirrors in ETC/sources.list and ETC/sources.list.d, in both formats of apt."""
    mirrors = []
    for path in [*sorted(etc.glob("sources.list.d/*.sources"))]:
        for stanza in re.split(r"\n\s*\n", path.read_text(errors="replace")):
            fields: dict[str, str] = {}
            for line in stanza.splitlines():
                name, colon, value = line.partition(":")
                if colon and not line.startswith(("#", " ", "\t")):
                    fields[name.strip().lower()] = value.strip()
            if "deb" in fields.get("types", "").split() and fields.get("enabled", "yes") != "no":
                for uri in fields.get("uris", "").split():
                    mirrors.append(Mirror(uri, fields.get("signed-by", "")))
    for path in [etc / "sources.list", *sorted(etc.glob("sources.list.d/*.list"))]:
        if not path.is_file():
            continue
        for line in path.read_text(errors="replace").splitlines():
            match = re.match(r"deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+\S+", line.strip())
            if match:
                signed = re.search(r"signed-by=(\S+)", match[1] or "")
                mirrors.append(Mirror(match[2], signed[1] if signed else ""))
    return mirrors


def mirror(security: bool, etc: Path = Path("/etc/apt")) -> Mirror:
    """Return the host's mirror of Debian's main archive or of its security archive.

    Containers often have no security archive; its address is then derived from the main one.
    Another distribution, such as Ubuntu, has Debian's keys in a package: the lab then asks ARCHIVE.
    Raises LabError if apt has no Debian archive and the host has no such keys.
    """
    keyring = KEYRING if Path(KEYRING).exists() else ""
    known = {found.uri.rstrip("/"): found.signed_by or keyring for found in parse_sources(etc)}
    main = [uri for uri in known if uri.endswith("/debian")]
    # The security archive is known by its address: .../debian-security.
    wanted = [uri for uri in known if "security" in uri] if security else main
    if wanted:
        return Mirror(wanted[0], known[wanted[0]])
    if main:
        return Mirror(f"{main[0]}-security", known[main[0]])
    if keyring:
        return Mirror(f"{ARCHIVE}-security" if security else ARCHIVE, keyring)
    raise LabError(
        f"apt knows no Debian archive: {etc}/sources.list and sources.list.d name none. Install "
        "the package debian-archive-keyring, and the lab takes its kernels from Debian; or use the "
        "wheel, which needs neither: docs/anywhere.md"
    )


def private_apt(suite: str, arch: str = "", *, source: bool = False) -> list[str]:
    """Return options that make apt-get use only SUITE, with all its state in the cache.

    ARCH is Debian's name of another architecture than the host's. SOURCE: of source packages.
    """
    home = CACHE / "apt" / "-".join(filter(None, (suite, arch, "source" * source)))
    for part in ("parts", "lists/partial", "cache/archives/partial"):
        (home / part).mkdir(parents=True, exist_ok=True)
    sources = home / "parts" / "debian.sources"
    sources.write_text(mirror("security" in suite).stanza(suite, source=source))
    options = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": home / "parts",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State::Lists": home / "lists",
        # Pretend that nothing is installed. Otherwise apt prefers the installed version.
        "Dir::State::status": "/dev/null",
        "Dir::Cache": home / "cache",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
        "Acquire::Retries": "3",
    } | ({"APT::Architecture": arch, "APT::Architectures::": arch} if arch else {})
    return [word for name, value in options.items() for word in ("-o", f"{name}={value}")]


def cached(package: str, arch: str = HOST_DEBIAN) -> Path | None:
    """Return the newest file of PACKAGE in the cache, or None. ARCH is Debian's name."""
    folder = CACHE / "dl"
    found = [path for end in (arch, "all") for path in folder.glob(f"{package}_*_{end}.deb")]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def update(suite: str, arch: str = "", *, source: bool = False) -> list[str]:
    """Fetch SUITE's list of packages, or of SOURCE packages.

    Returns the options that make apt use only this list.
    """
    with lock(CACHE / "apt" / f"{suite}{arch}{'-source' * source}.lock"):
        options = private_apt(suite, arch, source=source)
        apt_get(["update", "-q"], options)
    return options


def apt_get(words: list[str], options: list[str], target: Path = CACHE / "dl") -> None:
    """Run apt-get in the directory TARGET. Raise LabError with its error message."""
    target.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [need("apt-get", "apt"), *options, *words],
        cwd=target,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LabError(f"apt-get {' '.join(words)}: {done.stderr.strip()[-400:]}")


def names(prefix: str, suite: str) -> set[str]:
    """Return the names of packages in SUITE that begin with PREFIX."""
    done = subprocess.run(
        [need("apt-cache", "apt"), *update(suite), "pkgnames", prefix],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LabError(f"apt-cache pkgnames: {done.stderr.strip()[-400:]}")
    return set(done.stdout.split())


def download_with(package: str, options: list[str]) -> Path:
    """Fetch PACKAGE with apt OPTIONS and return the file."""
    apt_get(["download", "-q", package], options)
    key = "APT::Architecture="
    arch = [word.removeprefix(key) for word in options if word.startswith(key)]
    ready = cached(package, *arch)
    if not ready:
        raise LabError(f"apt-get did not download {package}")
    return ready


def download(package: str, suites: tuple[str, ...], arch: str = HOST_DEBIAN) -> Path:
    """Fetch PACKAGE from the first of SUITES that has it, unless the cache has it already."""
    ready = cached(package, arch)
    if ready:
        return ready
    problems = []
    for suite in suites:
        say(f"fetching {package} from Debian {suite}")
        try:
            return download_with(package, update(suite, "" if arch == HOST_DEBIAN else arch))
        except LabError as problem:
            problems.append(f"{suite}: {problem}")
    reasons = "\n  ".join(problems)
    raise LabError(f"cannot fetch {package}:\n  {reasons}")


def source_files(package: str, suite: str, folder: Path) -> None:
    """Fetch all files of a source package in SUITE into FOLDER."""
    apt_get(["source", "--download-only", "-q", package], update(suite, source=True), folder)


def download_source(package: str, suite: str) -> Path:
    """Fetch the upstream archive of a source package in SUITE, unless the cache has it already."""
    target = CACHE / "dl"
    ready = list(target.glob(f"{package}_*.orig.tar.*"))
    if not ready:
        say(f"fetching the source of {package} from Debian {suite}")
        source_files(package, suite, target)
        ready = list(target.glob(f"{package}_*.orig.tar.*"))
    if not ready:
        raise LabError(f"apt-get did not download the source of {package}")
    return max(ready, key=lambda path: path.stat().st_mtime)


def unpack_deb(deb: Path, target: Path) -> None:
    """Unpack the package file DEB below TARGET."""
    target.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [need("dpkg", "dpkg"), "-x", str(deb), str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shutil.rmtree(target, ignore_errors=True)
        raise LabError(f"cannot unpack {deb.name}: {done.stderr.strip()}")
