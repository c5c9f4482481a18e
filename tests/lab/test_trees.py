# SPDX-License-Identifier: GPL-2.0
"""Kernel trees of the user: which files count, what is edited, and that nothing is written."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from labkit import engines, records, trees
from labkit.errors import LabError
from labkit.request import Request

NEWEST = records.names("uml")[0]


def git(tree: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", tree, *who, *words], check=True, capture_output=True)


def make_tree(tree: Path, version: str = NEWEST) -> Path:
    """Make something that looks like a kernel, with the text that the newest record edits."""
    major, minor = version.split(".")
    tree.mkdir()
    (tree / "Makefile").write_text(f"VERSION = {major}\nPATCHLEVEL = {minor}\nSUBLEVEL = 1\n")
    (tree / "Kbuild").touch()
    texts: dict[str, str] = {}
    for file, old, _ in records.records()[NEWEST].uml.edits:  # type: ignore[union-attr]
        texts[file] = texts.get(file, "") + old
    for file, text in texts.items():
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        (tree / file).write_text(text)
    (tree / "net").mkdir()
    (tree / "net" / "a.c").write_text("one\n")
    (tree / ".gitignore").write_text("*.o\n.config\n")
    return tree


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = make_tree(tmp_path / "linux")
    git(made, "init", "-q")
    git(made, "add", "-A")
    git(made, "commit", "-qm", "one")
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_tree_that_was_built_in_place_has_only_its_sources(tree: Path) -> None:
    for product in (".config", "net/a.o"):
        (tree / product).write_text("made")
    (tree / "net" / "new.c").write_text("not committed\n")
    (tree / "net" / "a.c").unlink()
    found = trees.files(tree)
    assert {"Makefile", "net/new.c"} <= {*found}
    assert not {".config", "net/a.o", "net/a.c"} & {*found}


def test_without_git_products_are_left_out_and_a_configured_tree_is_refused(tmp_path: Path) -> None:
    made = make_tree(tmp_path / "linux")
    (made / "net" / "a.o").touch()
    assert "net/a.c" in trees.files(made)
    assert "net/a.o" not in trees.files(made)
    (made / ".config").touch()
    with pytest.raises(LabError, match=r"built in place \(\.config\).*make mrproper"):
        trees.files(made)


def test_the_build_sees_the_tree_and_its_edits_and_writes_nothing_there(
    tree: Path, tmp_path: Path
) -> None:
    before = contents(tree)
    farm = tmp_path / "place" / "source"
    farm.parent.mkdir()
    source = trees.sync(str(tree), trees.files(tree), farm)
    assert source.version == NEWEST
    assert (farm / "net" / "a.c").read_text() == "one\n"
    for file, _, new in records.records()[NEWEST].uml.edits:  # type: ignore[union-attr]
        assert new in (farm / file).read_text()
        assert new not in (tree / file).read_text()
    # A change of a file needs no link, a new file gets one, and a removed one goes.
    (tree / "net" / "a.c").write_text("two\n")
    (tree / "net" / "b.c").write_text("b\n")
    (tree / "Kbuild").unlink()
    trees.sync(str(tree), trees.files(tree), farm)
    assert (farm / "net" / "a.c").read_text() == "two\n"
    assert (farm / "net" / "b.c").read_text() == "b\n"
    assert not (farm / "Kbuild").is_symlink()
    (tree / "net" / "a.c").write_text("one\n")
    (tree / "net" / "b.c").unlink()
    (tree / "Kbuild").touch()
    assert contents(tree) == before


def test_any_change_of_a_file_changes_the_state(tree: Path) -> None:
    states = [trees.state(tree, trees.files(tree))]
    (tree / "net" / "a.c").write_text("two\n")
    states.append(trees.state(tree, trees.files(tree)))
    (tree / "net" / "c.c").touch()
    states.append(trees.state(tree, trees.files(tree)))
    assert len({*states}) == len(states)
    assert trees.state(tree, trees.files(tree)) == states[-1]


def test_equal_bytes_are_promised_only_of_a_known_version_with_all_edits(
    tree: Path, tmp_path: Path
) -> None:
    assert trees.user_mode(str(tree)).deterministic
    file = records.records()[NEWEST].uml.edits[0][0]  # type: ignore[union-attr]
    (tree / file).write_text("something else\n")
    changed = trees.user_mode(str(tree))
    assert not changed.deterministic
    assert file not in {edit[0] for edit in changed.edits}
    newer = make_tree(tmp_path / "newer", "99.1")
    assert not trees.user_mode(str(newer)).deterministic
    assert trees.user_mode(str(newer)).config == records.user_mode_of(NEWEST).config


def test_words_that_name_a_tree(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert trees.named("7.3") == "7.3"
    assert trees.named("") == ""
    assert trees.named(str(tree)) == str(tree)
    monkeypatch.chdir(tree)
    assert trees.named(".") == str(tree)
    monkeypatch.chdir(tree.parent)
    assert trees.named("linux") == str(tree)
    assert trees.is_tree(trees.named("linux"))
    assert trees.label(str(tree)).startswith("linux ")
    (tree / "net" / "a.c").write_text("two\n")
    assert trees.label(str(tree)).endswith("-dirty")


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"kernel": "/no/such/tree"}, "/no/such/tree/Makefile: No such file"),
        ({"kernel": "/etc/../etc"}, "/etc/Makefile: No such file"),
        ({"kernel": "TREE", "engine": "qemu"}, "a tree needs --engine uml"),
        ({"kernel": "OLD"}, "Linux 5.4 is older than 6.12"),
    ],
)
def test_refusals(request_: dict[str, str], said: str, tree: Path, tmp_path: Path) -> None:
    old = make_tree(tmp_path / "old", "5.4")
    names = {"TREE": str(tree), "OLD": str(old)}
    words = {key: names.get(value, value) for key, value in request_.items()}
    with pytest.raises(LabError, match=said):
        engines.run(Request(["true"], **words))
