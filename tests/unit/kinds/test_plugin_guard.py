"""What becomes of a third party's handler that does wrong."""

from __future__ import annotations

import dataclasses

import pytest

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import plugin_guard
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict

OBJ = {
    "apiVersion": "example.org/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "namespace": "ns"},
    "spec": {"password": "planted-hunter2"},
}
POD = GroupKind("", "Pod")
FUNCTIONS = {
    "assess": lambda handler: handler.assess(OBJ),
    "refuse_replicas": lambda handler: handler.refuse_replicas(OBJ, 3),
    "references": lambda handler: handler.references(OBJ),
    "child_selectors": lambda handler: handler.child_selectors(OBJ),
}


def doing(function, **names):
    """A guarded handler, one of whose functions is this one."""
    given = {"assess": base.stored, **dict.fromkeys(names, function)}
    return plugin_guard.guard(Handler(**given, name="mine"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_raises_is_named(name):
    """With its plug-in, the object, and the line that raised.

    The text of what it raised may quote the object, and is left out.
    """

    def stumbles(obj, *more):
        return int(obj["spec"]["password"])

    handler = doing(stumbles, **{name: True})

    with pytest.raises(errors.HandlerFailed) as caught:
        FUNCTIONS[name](handler)

    line = stumbles.__code__.co_firstlineno + 1
    assert (
        "handlers of the entry point mine: Widget.example.org/ns/a: "
        f"{name} raised ValueError in line {line} of test_plugin_guard.py"
    ) == caught.value.outcome()


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("assess", None, "returned NoneType, expected a Verdict"),
        ("assess", True, "returned bool, expected a Verdict"),
        ("assess", Verdict("current", "so"), "returned Verdict"),
        ("assess", Verdict(State.CURRENT, None), "returned Verdict"),
        ("refuse_replicas", False, "returned bool, expected a text or None"),
        (
            "references",
            None,
            "returned NoneType, expected a tuple of ObjectRefs",
        ),
        ("references", [ObjectRef("", "Pod", "ns", "a")], "returned list"),
        ("references", ("Pod/a",), "returned tuple"),
        ("references", (ObjectRef("", "Pod", None, "a"),), "returned tuple"),
        (
            "child_selectors",
            None,
            "returned NoneType, expected a tuple of pairs",
        ),
        ("child_selectors", (POD, "app=a"), "returned tuple"),
        ("child_selectors", ((POD, {"app": "a"}),), "returned tuple"),
    ],
)
def test_an_answer_of_a_wrong_type_is_an_error(name, given, said):
    """It is not taken for anything, nor left to fail elsewhere."""
    handler = doing(lambda obj, *more: given, **{name: True})

    with pytest.raises(errors.HandlerFailed) as caught:
        FUNCTIONS[name](handler)

    assert f"Widget.example.org/ns/a: {name} {said}" in str(caught.value)


def test_a_handler_that_does_right_is_as_it_was():
    """Every answer comes through, and what is not given stays so."""
    ref = ObjectRef("", "ConfigMap", "ns", "a")
    own = Handler(
        base.stored,
        refuse_replicas=lambda obj, number: f"{number} is odd",
        references=lambda obj: (ref,),
        child_selectors=lambda obj: ((POD, "app=a"),),
        delete_exclusively=True,
        name="mine",
    )
    handler = plugin_guard.guard(own)
    bare = plugin_guard.guard(Handler(base.stored, name="mine"))

    assert own.assess(OBJ) == handler.assess(OBJ)
    assert "3 is odd" == handler.refuse_replicas(OBJ, 3)
    assert (ref,) == handler.references(OBJ)
    assert ((POD, "app=a"),) == handler.child_selectors(OBJ)
    assert handler.delete_exclusively
    assert (None, None, None) == (
        bare.refuse_replicas,
        bare.references,
        bare.child_selectors,
    )


def test_an_interrupt_is_not_an_error_of_a_handler():
    """Who ends the program while a handler works ends the program."""

    def interrupted(obj):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        doing(interrupted, assess=True).assess(OBJ)


@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        ("assess", None, "assess must be a function, got None"),
        (
            "child_selectors",
            (),
            "child_selectors must be a function, got ()",
        ),
        ("rank", 6, "rank must be an ApplyOrder, got 6"),
        ("replicas", "spec.size", "replicas must be a tuple"),
        ("replicas", (), "replicas must be a tuple"),
        (
            "delete_exclusively",
            "yes",
            "delete_exclusively must be True or False, got 'yes'",
        ),
        (
            "propagation",
            "Orphan",
            "propagation must be Background or Foreground",
        ),
    ],
)
def test_a_field_of_a_wrong_type_is_a_fault(field, given, said):
    """It is found when the handler is read, not in mid-operation."""
    handler = dataclasses.replace(Handler(base.stored), **{field: given})

    (fault,) = plugin_guard.invalid_fields(handler)

    assert fault.startswith(said)
    assert [] == list(plugin_guard.invalid_fields(Handler(base.stored)))
