"""HTML: one file with the timeline of every launch, its source and what there is to say about it."""

from __future__ import annotations

import base64
import hashlib
import html as html_module
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tlxviz._texts import on_one_line
from tlxviz.exports.html import bundle
from tlxviz.exports.html.columns import packed
from tlxviz.exports.html.described import Texts, described, vocabulary
from tlxviz.exports.model import Cut

_UNSAFE = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
"""What could end a script, or a line of one, as JSON writes it too."""


def html(cuts: Sequence[Cut]) -> bytes:
    """UTF-8. The page loads nothing: the only script that its policy lets run is its own."""
    return page(cuts, style=bundle.style(), script=bundle.script()).encode()


def page(cuts: Sequence[Cut], *, style: str, script: str) -> str:
    """The page, with another style and script than its own where somebody wants that."""
    texts = Texts()
    launches: list[dict[str, Any]] = []
    blocks: list[str] = []
    for cut in cuts:
        events = packed(cut.launch)
        launches.append(described(cut, texts) | {"counts": events.counts, "planes": events.planes})
        data = base64.b64encode(events.data).decode()
        blocks.append(f'<script type="text/plain" class="events">{data}</script>')
    document = {"launches": launches, "texts": texts.held, "vocabulary": vocabulary()}
    return _filled(
        bundle.template(),
        {
            "title": html_module.escape(_title(cuts)),
            "policy": f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'",
            "style": style,
            "script": script,
            "document": json.dumps(document, separators=(",", ":"), allow_nan=False).translate(_UNSAFE),
            "events": "\n".join(blocks),
        },
    )


def _title(cuts: Sequence[Cut]) -> str:
    return ", ".join(dict.fromkeys(on_one_line(each.launch.kernel) for each in cuts))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """The template with its parts in it; what stands in a part is left as it is."""
    first, *rest = template.split("{{")
    filled = [first]
    for each in rest:
        name, _, behind = each.partition("}}")
        filled += [parts[name], behind]
    return "".join(filled)
