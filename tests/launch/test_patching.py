"""The undo stack."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tlxviz.launch.patching import Scope


class Base:
    kept = "inherited"


class Derived(Base):
    own = "own"


def test_attributes_come_back_in_reverse_order():
    thing = SimpleNamespace(value=1)
    with Scope() as scope:
        scope.set_attr(thing, "value", 2)
        scope.set_attr(thing, "value", 3)
        assert thing.value == 3
    assert thing.value == 1


def test_an_attribute_that_was_absent_or_inherited_is_deleted_again():
    with Scope() as scope:
        scope.set_attr(Derived, "kept", "patched")
        scope.set_attr(Derived, "new", 1)
        scope.set_attr(Derived, "own", 2)
    assert "kept" not in vars(Derived)
    assert Derived.kept == "inherited"
    assert not hasattr(Derived, "new")
    assert Derived.own == "own"


def test_everything_is_restored_when_one_step_of_undoing_fails():
    thing = SimpleNamespace(value=1)

    def fail() -> None:
        raise RuntimeError("undo")

    scope = Scope()
    scope.set_attr(thing, "value", 2)
    scope.callback(fail)
    with pytest.raises(RuntimeError, match="undo"):
        scope.close()
    assert thing.value == 1


def test_a_list_gets_its_contents_back_whatever_was_done_to_it():
    items = [1, 2]
    with Scope() as scope:
        scope.set_list(items, [3])
        items.append(4)
    assert items == [1, 2]
