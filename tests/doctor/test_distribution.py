"""Whose files are in `triton/`, and what is said where they are somebody else's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fake_site import FBTRITON, TRITON, install, uninstall

from tlxviz import _distribution, _triton
from tlxviz._errors import ExitCode, TlxvizError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty site-packages, the only one of which `triton` is imported."""
    monkeypatch.setattr(_triton, "package_folder", lambda package: tmp_path / package)
    return tmp_path


def test_one_distribution_is_whole(site: Path):
    install(site, "fbtriton", "3.7.4", FBTRITON)
    owner = _triton.owner()
    assert owner is not None
    assert (owner.name, owner.version, len(owner.files)) == ("fbtriton", "3.7.4", 3)
    assert _triton.damage() is None
    assert _triton.damage(hashes=True) is None


def test_both_are_fine_while_the_files_are_those_of_fbtriton(site: Path):
    install(site, "triton", "3.8.0", TRITON)
    install(site, "fbtriton", "3.7.4", FBTRITON)
    assert _triton.damage() is None


def test_what_counts_is_the_distribution_that_is_imported(site: Path):
    install(site, "fbtriton", "3.7.4", FBTRITON)
    install(site, "triton", "3.8.0", TRITON)
    owner = _triton.owner()
    assert owner is not None
    assert owner.name == "triton"
    assert _triton.damage() is None


def test_a_mixture_is_damage(site: Path):
    install(site, "triton", "3.8.0", TRITON)
    install(site, "fbtriton", "3.7.4", FBTRITON)
    (site / "triton/knobs.py").write_text(TRITON["triton/knobs.py"])
    damage = _triton.damage()
    assert damage is not None
    assert str(damage).startswith(
        f"the folder triton/ in {site} is not what fbtriton 3.7.4 installed: 1 of its 3 files are missing or not its "
        "own (triton/knobs.py). "
    )
    assert damage.mend == "pip install --force-reinstall --no-deps fbtriton==3.7.4"


@pytest.mark.parametrize(
    ("removed", "left", "lost"),
    [
        (("triton", "3.8.0", TRITON), "fbtriton==3.7.4", ["triton/__init__.py", "triton/knobs.py"]),
        (("fbtriton", "3.7.4", FBTRITON), "triton==3.8.0", ["triton/__init__.py", "triton/knobs.py"]),
    ],
    ids=["triton", "fbtriton"],
)
def test_removing_one_damages_the_other(
    site: Path, removed: tuple[str, str, dict[str, str]], left: str, lost: list[str]
):
    install(site, "triton", "3.8.0", TRITON)
    install(site, "fbtriton", "3.7.4", FBTRITON)
    uninstall(site, *removed)
    damage = _triton.damage()
    assert damage is not None
    assert damage.files == lost
    assert damage.mend.endswith(left)


def test_an_edit_of_the_same_size_shows_by_its_hash_alone(site: Path):
    install(site, "fbtriton", "3.7.4", FBTRITON)
    (site / "triton/knobs.py").write_text("# of FBTRITON\n")
    assert _triton.damage() is None
    damage = _triton.damage(hashes=True)
    assert damage is not None
    assert damage.files == ["triton/knobs.py"]


def test_many_files_are_counted_and_three_named(site: Path):
    files = {f"triton/part{number}.py": "" for number in range(5)}
    install(site, "fbtriton", "3.7.4", files)
    for path in files:
        (site / path).unlink()
    assert "5 of its 5 files" in str(_triton.damage())
    assert "(triton/part0.py, triton/part1.py, triton/part2.py and 2 more)" in str(_triton.damage())


def test_what_has_no_record_of_the_package_is_accepted(site: Path):
    """An editable installation, whose RECORD names a file that points to the sources, and a plain source tree."""
    install(site, "triton", "3.8.0", {"__editable__.triton.pth": "/src/triton\n"})
    assert _triton.owner() is None
    assert _triton.damage() is None


def test_a_record_that_is_gone_is_accepted(site: Path):
    install(site, "fbtriton", "3.7.4", FBTRITON)
    (site / "fbtriton-3.7.4.dist-info" / "RECORD").unlink()
    assert _triton.damage() is None


def test_the_folder_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "broken_package").mkdir()
    (tmp_path / "broken_package" / "__init__.py").write_text("raise RuntimeError\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert _distribution.package_folder("broken_package") == tmp_path / "broken_package"
    assert _distribution.package_folder("no_such_package") is None


def test_a_triton_without_what_kernels_need_is_refused(tmp_path: Path):
    """One that is too old, or a folder that pip has left behind."""
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("__version__ = '3.1.0'\n")
    done = subprocess.run(
        [sys.executable, "-c", "from tlxviz import _triton; _triton.require()"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1].startswith(
        "tlxviz._errors.TlxvizError: triton is installed but cannot be imported (No module named 'triton.knobs'"
    )


def test_running_kernels_is_refused_with_the_mend(site: Path):
    install(site, "fbtriton", "3.7.4", FBTRITON)
    (site / "triton/knobs.py").unlink()
    with pytest.raises(TlxvizError, match=r"To mend it: pip install --force-reinstall --no-deps fbtriton") as caught:
        _triton.require()
    assert caught.value.exit_code is ExitCode.CANNOT_RUN
