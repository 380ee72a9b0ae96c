"""The registry of rules, its page, and what findings name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tlxviz.check.rules import IGNORE, RULES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")


def test_the_page_has_a_section_for_each_rule_in_the_order_of_the_registry():
    assert re.findall(r"^## (\S+)$", PAGE, re.MULTILINE) == list(RULES)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_the_table_of_the_page_has_the_rule_with_its_severity_and_summary(rule):
    assert f"| [`{rule.id}`](#{rule.id}) | {rule.severity} | {rule.summary} |" in PAGE


def test_every_fault_of_the_corpus_stands_in_the_section_of_its_rule():
    sections = dict(zip(RULES, re.split(r"^## \S+$", PAGE, flags=re.MULTILINE)[1:], strict=True))
    table = (ROOT / "tests" / "faults" / "README.md").read_text(encoding="utf-8")
    faults = re.findall(r"^\| ([a-z-]+) \| `(\w+)` \|", table, re.MULTILINE)
    assert faults
    assert [name for rule, name in faults if f"`{name}`" not in sections[rule]] == []


def test_what_the_checker_names_is_a_rule():
    """Each rule but those of comments and of what does not run yet is named in the checker's code, and no other."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tlxviz" / "check").rglob("*.py"))
    code = code.replace((ROOT / "tlxviz" / "check" / "rules.py").read_text(encoding="utf-8"), "")
    missing = [rule for rule in RULES if rule not in (IGNORE, "nan") and f'"{rule}"' not in code]
    assert missing == []
