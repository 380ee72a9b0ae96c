"""The compiler: which one is imported, whether its files are all there, whether it knows TLX."""

from __future__ import annotations

from tlxviz import _triton
from tlxviz.doctor.model import Machine, Outcome, ok, problem, warning
from tlxviz.doctor.packages import version_of
from tlxviz.doctor.registry import check

_UTLX = 'pip install "tlxviz[utlx]"'


@check("compiler", "Compiler")
def _compiler(machine: Machine) -> Outcome:
    found = machine.imported("triton")
    if found.error:
        damaged = _triton.damage()
        return problem(f"triton: {found.error}", damaged.mend if damaged is not None else _triton.INSTALL)
    name = _name(str(found.facts["version"]))
    detail = f"{name} {found.facts['version']}, {found.facts['folder']}"
    if name != "fbtriton" and not str(found.facts["version"]).startswith("3.8."):
        return warning(f"{detail}; tlxviz is tested with fbtriton and with triton 3.8", _triton.INSTALL)
    return ok(detail)


@check("files", "Compiler files")
def _files(machine: Machine) -> Outcome:
    damaged = _triton.damage(hashes=True)
    if damaged is not None:
        return problem(str(damaged), damaged.mend)
    owner = _triton.owner()
    if owner is None and machine.imported("triton").error:
        return warning("not looked for, because there is no compiler")
    if owner is None:
        return ok("there is no RECORD to compare them with, as for an installation from source")
    detail = f"all {len(owner.files)} files are those of {owner.name} {owner.version}"
    if owner.name == "fbtriton" and (triton := version_of("triton")):
        return ok(f"{detail}; triton {triton} is installed too and its files overwritten: do not uninstall it alone")
    return ok(detail)


@check("tlx", "TLX")
def _tlx(machine: Machine) -> Outcome:
    found = machine.imported("triton")
    if found.error or _triton.damage() is not None:
        return warning("not looked for, because the compiler is damaged or missing")
    triton, plugin = str(found.facts["version"]), version_of("triton-utlx")
    if _name(triton) == "fbtriton":
        return ok("part of fbtriton") if "tlx" in found.facts else problem(found.facts["tlx_error"], _triton.INSTALL)
    if not plugin:
        return warning("not installed: plain Triton kernels run, TLX kernels do not", _UTLX)
    if _line(plugin) != _line(triton):
        return problem(f"triton-utlx {plugin} is made for another triton than {triton}, and may crash it", _UTLX)
    if "tlx" not in found.facts:
        return problem(f"triton-utlx {plugin} cannot be imported ({found.facts['tlx_error']})", _UTLX)
    return ok(f"triton-utlx {plugin}")


@check("torch", "PyTorch")
def _torch(machine: Machine) -> Outcome:
    found = machine.imported("torch")
    if found.error:
        return problem(f"torch: {found.error}", _triton.INSTALL)
    built = next((f"built for {kind} {found.facts[key]}" for kind, key in _BUILDS if found.facts.get(key)), "CPU build")
    return ok(f"{found.facts['version']}, {built}")


_BUILDS = (("CUDA", "cuda"), ("ROCm", "hip"))


def _name(version: str) -> str:
    return "fbtriton" if _triton.is_fbtriton(version) else "triton"


def _line(version: str) -> list[str]:
    """The release line: major and minor number."""
    return version.split(".")[:2]


CHECKS = (_compiler, _files, _tlx, _torch)
