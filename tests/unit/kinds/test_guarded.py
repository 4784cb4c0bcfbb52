"""What becomes of a third party's handler that does wrong."""

from __future__ import annotations

import dataclasses

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import guarded
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict

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
    "children": lambda handler: handler.children(OBJ),
    "made": lambda handler: handler.made(OBJ),
}


def doing(function, **names):
    """A guarded handler, one of whose functions is this one."""
    given = {"assess": base.stored, **dict.fromkeys(names, function)}
    return guarded.guarded(Handler(**given, name="mine"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_raises_is_named(name):
    """With its plug-in, the object, and the line that raised (TK-2).

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
        f"{name} raised ValueError in line {line} of test_guarded.py"
    ) == str(caught.value)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("assess", None, "gave NoneType, and a Verdict is wanted"),
        ("assess", True, "gave bool, and a Verdict is wanted"),
        ("assess", Verdict("current", "so"), "gave Verdict"),
        ("assess", Verdict(State.CURRENT, None), "gave Verdict"),
        ("refuse_replicas", False, "gave bool, and a text or None is wanted"),
        ("children", None, "gave NoneType, and a tuple of ObjectRefs"),
        ("children", [ObjectRef("", "Pod", "ns", "a")], "gave list"),
        ("children", ("Pod/a",), "gave tuple"),
        ("children", (ObjectRef("", "Pod", None, "a"),), "gave tuple"),
        ("made", None, "gave NoneType, and a tuple of pairs"),
        ("made", (POD, "app=a"), "gave tuple"),
        ("made", ((POD, {"app": "a"}),), "gave tuple"),
    ],
)
def test_an_answer_of_a_wrong_type_is_an_error(name, given, said):
    """It is not taken for anything, nor left to fail elsewhere (TK-2)."""
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
        children=lambda obj: (ref,),
        made=lambda obj: ((POD, "app=a"),),
        alone=True,
        name="mine",
    )
    handler = guarded.guarded(own)
    bare = guarded.guarded(Handler(base.stored, name="mine"))

    assert own.assess(OBJ) == handler.assess(OBJ)
    assert "3 is odd" == handler.refuse_replicas(OBJ, 3)
    assert (ref,) == handler.children(OBJ)
    assert ((POD, "app=a"),) == handler.made(OBJ)
    assert handler.alone
    assert (None, None, None) == (
        bare.refuse_replicas,
        bare.children,
        bare.made,
    )


def test_an_interrupt_is_no_fault_of_a_handler():
    """Who ends the program while a handler works ends the program."""

    def interrupted(obj):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        doing(interrupted, assess=True).assess(OBJ)


@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        ("assess", None, "assess is None, and a function is wanted"),
        ("made", (), "made is (), and a function is wanted"),
        ("rank", 6, "rank is 6, and a Rank is wanted"),
        ("replicas", "spec.size", "replicas is 'spec.size', and a tuple"),
        ("replicas", (), "replicas is (), and a tuple"),
        ("alone", "yes", "alone is 'yes', and True or False is wanted"),
        ("propagation", "Orphan", "propagation is 'Orphan', and Background"),
    ],
)
def test_a_field_of_a_wrong_type_is_a_fault(field, given, said):
    """It is found when the handler is read, not in mid-operation."""
    handler = dataclasses.replace(Handler(base.stored), **{field: given})

    (fault,) = guarded.faults(handler)

    assert fault.startswith(said)
    assert [] == list(guarded.faults(Handler(base.stored)))
