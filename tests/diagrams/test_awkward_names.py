"""Diagrams of kernels whose names and lines of source have characters that files of pictures cannot hold, or take for
something else."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from analysis.synthetic_traces import Scene

from tlxviz.diagrams.kinds import KINDS, Subject
from tlxviz.diagrams.renderer import find_renderer, render
from tlxviz.diagrams.timeline import timeline
from tlxviz.ir import load_program, name_from_source
from tlxviz.trace import LaunchTrace, load_trace

DATA = Path(__file__).parent / "data"
CONTROL = "\x1b[31m\f\0\x7f\udcff\uffff"
SEEN = "\ufffd[31m" + "\ufffd" * 5


def named(made: LaunchTrace, behind: str) -> LaunchTrace:
    """The launch with something behind each of its names."""
    return replace(
        made,
        kernel=made.kernel + behind,
        tracks=[replace(each, name=each.name + behind) for each in made.tracks],
        agents=[replace(each, name=each.name + behind) for each in made.agents],
        sites=[replace(each, variable=each.variable and each.variable + behind) for each in made.sites],
    )


@pytest.mark.skipif(
    shutil.which("dot") is None and shutil.which("graphviz-pure") is None, reason="needs Graphviz or graphviz-pure"
)
@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"deadlock"}))
def test_control_characters_are_replaced(kind: str) -> None:
    plain = load_trace(DATA / "hopper_gemm_ws.tlxtrace").launches[0]
    made = named(plain, CONTROL)
    program = load_program(made.ttgir)
    name_from_source(program, made.source, made.source_file, made.source_line)
    program.name += CONTROL
    text = KINDS[kind].dot(Subject(program, made))
    assert SEEN in text
    ElementTree.fromstring(render(text, "svg", find_renderer("svg")))


@pytest.mark.skipif(
    shutil.which("dot") is None and shutil.which("graphviz-pure") is None, reason="needs Graphviz or graphviz-pure"
)
@pytest.mark.parametrize("name", ["<b>", r"\N", "{a|b}", '"&quot;'])
def test_names_are_written_as_they_are(name: str) -> None:
    scene = Scene()
    scene.group(name, 0, 100)
    scene.event(scene.group("other", 0, 100), "arrive", 10, 90, variable=name)
    picture = ElementTree.fromstring(render(timeline(scene.launch()), "svg", find_renderer("svg")))
    texts = ["".join(each.itertext()) for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert name in {text.partition(",")[0] for text in texts}
    assert f"arrive {name}[0]" in texts
