"""Folders that look like site-packages with triton or fbtriton in them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

FBTRITON = {
    "triton/__init__.py": "__version__ = '3.7.4+fb'\n",
    "triton/knobs.py": "# of fbtriton\n",
    "triton/language/extra/tlx/__init__.py": "",
}
TRITON = {"triton/__init__.py": "__version__ = '3.8.0'\n", "triton/knobs.py": "# of triton, and longer\n"}


def install(site: Path, name: str, version: str, files: Mapping[str, str]) -> None:
    """What pip does: writes the files, over those that are there, and a RECORD of them."""
    rows: list[str] = []
    for path, text in files.items():
        target = site / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        rows.append(f"{path},sha256={digest},{len(text.encode())}")
    rows += [f"triton/__pycache__/{name}.cpython-311.pyc,,", f"{name}-{version}.dist-info/RECORD,,"]
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / "RECORD").write_text("\n".join(rows) + "\n")


def uninstall(site: Path, name: str, version: str, files: Mapping[str, str]) -> None:
    """What pip does: removes the files, whoever wrote them last."""
    for path in files:
        (site / path).unlink(missing_ok=True)
    folder = site / f"{name}-{version}.dist-info"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
