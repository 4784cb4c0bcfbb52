"""Tacker's v2 requests and records <-> our values; on Tacker's own types."""

import dataclasses
import json

from hypothesis import given
from hypothesis import strategies as st
import pytest
from tacker.sol_refactored import objects

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import synchronization
from tacker_k8s_cr.driver.instances import InstanceView
from tacker_k8s_cr.driver.v2 import mapping
from tacker_k8s_cr.driver.v2 import sync_db
from tacker_k8s_cr.lcm.healing.members import Member
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Aspect
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Healing
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.plan.journal import Phase

ID = "7d1f3a52-58a5-4d3f-9c43-1ef1b8d38a0c"
OWNER = ObjectRef("apps", "StatefulSet", "edge", "db")
VNFD = Vnfd(
    id="vnfd-b",
    flavour="simple",
    vdus={"DB": Vdu("DB", "db", 0, 5), "GW": Vdu("GW", "gw", 1, 1)},
    aspects={"dbs": Aspect("dbs", 2, {"DB": (2,)})},
    initial={"DB": 0, "GW": 1},
    levels={},
    level_numbers={},
    default_level="",
)


def member(name, uid, kind="Pod", node=""):
    return Member(ObjectRef("", kind, "edge", name), uid, OWNER, node)


def instance(found=None, **more):
    """An instance as the database has it after our instantiation."""
    inst = objects.VnfInstanceV2(
        id=ID,
        vnfdId="vnfd-b",
        vimConnectionInfo={
            "vim1": objects.VimConnectionInfo(
                vimId="v",
                vimType="kubernetes",
                interfaceInfo={"endpoint": "https://api:6443"},
                accessInfo={"bearer_token": "planted-token"},
            )
        },
    )
    mapping.note_instantiated(
        inst,
        objects.InstantiateVnfRequest(flavourId="simple"),
        additional_params.RequestParams(files=("a.yaml",), namespace="edge"),
        found or {},
    )
    inst.instantiatedVnfInfo.scaleStatus = [
        objects.ScaleInfoV2(aspectId="dbs", scaleLevel=1)
    ]
    for name, value in more.items():
        setattr(inst, name, value)
    return inst


def scale(kind="SCALE_OUT", aspect="dbs", **more):
    return objects.ScaleVnfRequest(type=kind, aspectId=aspect, **more)


def stored(inst):
    """As it comes back from the database."""
    return objects.VnfInstanceV2.from_json(inst.to_json())


# -- Whose and where ----------------------------------------------------------


def test_an_instance_is_recognized_by_its_metadata():
    """Tacker's own driver leaves other keys, and a new one has none."""
    inst = stored(instance())
    theirs = stored(instance())
    theirs.instantiatedVnfInfo.metadata = {"namespace": "edge"}
    without = stored(instance())
    del without.instantiatedVnfInfo.metadata

    assert mapping.is_managed(inst)
    assert not mapping.is_managed(theirs)
    assert not mapping.is_managed(without)
    assert not mapping.is_managed(objects.VnfInstanceV2(id=ID))


def test_the_record_is_found_by_the_metadata():
    """The namespace is that of the record, on the instance's VIM."""
    target = mapping.target(stored(instance()))

    assert (ID, "edge") == (target.instance, target.namespace)
    assert "https://api:6443" == target.access["auth_url"]
    assert "planted-token" == target.access["bearer_token"]
    assert "planted-token" not in repr(target)


def test_a_new_instance_has_the_record_namespace_of_the_request():
    """Its metadata say nothing yet."""
    inst = instance()
    del inst.instantiatedVnfInfo

    target = mapping.target(inst, record_namespace="records", namespace="core")

    assert ("records", "core") == (target.record_namespace, target.namespace)


# -- What is asked for --------------------------------------------------------


def test_parameters_that_are_not_set_are_none():
    """Tacker's objects raise when an attribute is read that is not set."""
    requested_members = mapping.request_params(
        objects.TerminateVnfRequest(), "terminate"
    )

    assert additional_params.RequestParams() == requested_members


def test_a_chart_is_refused():
    """In v2 the type of the VIM selects the driver for charts."""
    req = objects.InstantiateVnfRequest(
        flavourId="f", additionalParams={"use_helm": True}
    )

    with pytest.raises(RequestInvalid, match="instantiates charts on"):
        mapping.request_params(req, "instantiate")


@pytest.mark.parametrize("kind", [None, "BlueGreen", "rollingupdate"])
@pytest.mark.requirement("T7")
def test_another_upgrade_strategy_is_refused(kind):
    """Nothing else is done in its place."""
    params = {"lcm-kubernetes-def-files": ["a.yaml"], "upgrade_type": kind}
    req = objects.ChangeCurrentVnfPkgRequest(
        vnfdId="v", additionalParams=params
    )

    with pytest.raises(RequestInvalid, match="upgrade_type"):
        mapping.change_params(req, "edge")


def test_a_rolling_update_is_read():
    """Without VDUs too: the whole package counts."""
    params = {
        "lcm-kubernetes-def-files": ["b.yaml"],
        "upgrade_type": "RollingUpdate",
        "vdu_params": [],
    }
    req = objects.ChangeCurrentVnfPkgRequest(
        vnfdId="v", additionalParams=params
    )

    assert ("b.yaml",) == mapping.change_params(req, "edge").files


@pytest.mark.parametrize(
    ("level", "req"),
    [
        (2, scale(numberOfSteps=1)),
        (2, scale()),
        (3, scale(numberOfSteps=2)),
        (0, scale("SCALE_IN", numberOfSteps=1)),
    ],
)
def test_a_scale_leads_to_a_level(level, req):
    """It is counted from what Tacker has, and 1 step where none is named."""
    inst = stored(instance())

    assert level == mapping.level(inst, req)
    assert 1 == mapping.level_before(inst, req)


def test_an_unknown_aspect_is_refused():
    """The aspects that are there are named."""
    with pytest.raises(RequestInvalid, match="its aspects are: dbs"):
        mapping.level(instance(), scale(aspect="web"))


def test_a_heal_names_members_by_their_uids():
    """VNFC ids of the request identify the objects.

    A deleted one is healed, unless a heal that ended early deleted it, or it
    was a Pod of the package: only a heal creates that again.
    """
    inst = stored(
        instance({"DB": [member("db-0", "u0"), member("db-1", "u1")]})
    )

    there = {"DB": [member("db-1", "u1"), member("db-2", "u2")]}
    at_rest = Inventory("one", "default")
    healed = dataclasses.replace(
        at_rest, healing=Healing(members=(MemberRef(OWNER, "u0", OWNER),))
    )
    vanished = dataclasses.replace(
        at_rest,
        owned={ObjectRef("", "Pod", "default", "db-0"): "u0"},
        manifests=(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "db-0", "namespace": "default"},
            },
        ),
    )

    def requested_members(inventory=at_rest, **fields):
        return mapping.selected_members(
            inst, objects.HealVnfRequest(**fields), there, inventory
        )

    assert {"u1"} == requested_members(vnfcInstanceId=["DB-u1"])
    assert {"u1"} == requested_members(
        vnfcInstanceId=["DB-u1"], additionalParams={"all": True}
    )
    assert set() == requested_members(vnfcInstanceId=["DB-u0"])
    assert {"u0"} == requested_members(healed, vnfcInstanceId=["DB-u0"])
    assert {"u0"} == requested_members(vanished, vnfcInstanceId=["DB-u0"])
    assert None is requested_members()
    assert None is requested_members(additionalParams={"all": True})
    assert None is requested_members(additionalParams={"all": False})


@pytest.mark.parametrize(
    ("seconds", "fields"),
    [
        (0, {"terminationType": "FORCEFUL"}),
        (
            7,
            {"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 7},
        ),
        (10, {"terminationType": "GRACEFUL"}),
    ],
)
@pytest.mark.requirement("F5")
def test_a_graceful_termination_has_its_seconds(seconds, fields):
    """Without them Tacker's option applies; a forceful one has none."""
    req = objects.TerminateVnfRequest(**fields)

    assert seconds == mapping.grace_seconds(req)


# -- Rollbacks ----------------------------------------------------------------


def inventory(phase, vnfd=VNFD, **levels):
    return Inventory(ID, "edge", phase=phase, vnfd=vnfd, scale_levels=levels)


def test_a_scale_is_rolled_back_if_it_began():
    """One that was refused changed nothing, and would be refused again."""

    def begun(found):
        return instances.needs_scale_rollback(found, "dbs", 1)

    assert begun(inventory(Phase.SCALING, dbs=1))
    assert begun(inventory(Phase.INSTANTIATED, dbs=2))
    assert not begun(inventory(Phase.INSTANTIATED, dbs=1))
    assert not begun(None)


# -- What Tacker keeps --------------------------------------------------------


def test_tacker_keeps_references_only():
    """No manifest, and no credential but Tacker's own."""
    kept = stored(instance()).instantiatedVnfInfo

    assert {
        "tacker_k8s_cr": {"record": f"edge/{ID}"},
        "namespace": "edge",
        "tenant": "edge",
        "lcm-kubernetes-def-files": ["a.yaml"],
    } == kept.metadata
    assert ("simple", "STARTED") == (kept.flavourId, kept.vnfState)
    assert [] == kept.vnfcResourceInfo
    assert [] == kept.vnfcInfo


def test_members_are_written_down_as_vnfcs():
    """Pods, and Machines with their Nodes, by their UIDs."""
    inst = instance({"W": [member("w-1", "u1", "Machine", "node-1")]})

    [found] = stored(inst).instantiatedVnfInfo.vnfcResourceInfo
    [info] = stored(inst).instantiatedVnfInfo.vnfcInfo

    assert ("u1", "W") == (found.id, found.vduId)
    assert {
        "resourceId": "w-1",
        "vimLevelResourceType": "StatefulSet",
        "vimConnectionId": "vim1",
    } == found.computeResource.to_dict()
    assert {
        "kind": "Machine",
        "namespace": "edge",
        "uid": "u1",
        "owner": "db",
        "node": "node-1",
    } == found.metadata
    assert ("W-u1", "W", "u1", "STARTED") == (
        info.id,
        info.vduId,
        info.vnfcResourceInfoId,
        info.vnfcState,
    )


def test_a_vnfc_keeps_what_was_configured():
    """As long as the object is the same, whatever its name."""
    inst = instance({"DB": [member("db-0", "u0"), member("db-1", "u1")]})
    inst.instantiatedVnfInfo.vnfcInfo[0].vnfcConfigurableProperties = {"a": 1}

    mapping.note_members(
        inst, {"DB": [member("db-0", "u0"), member("db-1", "u2")]}
    )

    first, second = inst.instantiatedVnfInfo.vnfcInfo
    assert {"a": 1} == first.vnfcConfigurableProperties
    assert not second.obj_attr_is_set("vnfcConfigurableProperties")
    assert "DB-u2" == second.id


def test_other_files_are_written_down_beside_the_rest():
    """What a management script put into the metadata stays."""
    inst = instance()
    before = inst.obj_clone()
    inst.instantiatedVnfInfo.metadata["theirs"] = 1

    mapping.note_files(inst, ("b.yaml",))

    kept = inst.instantiatedVnfInfo.metadata
    assert (["b.yaml"], 1) == (
        kept["lcm-kubernetes-def-files"],
        kept["theirs"],
    )
    assert mapping.is_managed(inst)
    assert ["a.yaml"] == (
        before.instantiatedVnfInfo.metadata["lcm-kubernetes-def-files"]
    )


# -- Synchronization ----------------------------------------------------------


def seen(members, phase=Phase.INSTANTIATED, holder="", vnfd=VNFD, **numbers):
    return InstanceView(
        inventory(phase, vnfd, dbs=1), members, numbers, holder
    )


def test_a_difference_is_one_of_uids():
    """An object replaced under its name is another; order means nothing."""
    inst = instance({"DB": [member("db-0", "u0"), member("db-1", "u1")]})

    def differs(*uids):
        there = {"DB": [member("d", uid) for uid in uids]}
        return sync_db.is_changed(inst, seen(there, DB=2))

    assert not differs("u1", "u0")
    assert differs("u0", "u2")
    assert differs("u0")
    assert differs()


@pytest.mark.parametrize(
    ("size", "level"), [(0, 0), (2, 1), (4, 2), (3, None), (6, None)]
)
def test_the_scale_level_follows_the_replicas(size, level):
    """A client scaled past Tacker: the level is that of spec.replicas.

    Half a step and more than the highest level are not levels.
    """
    inst = instance({"DB": [member("db-0", "u0")]})
    found = seen({"DB": [member("db-0", "u0")]}, DB=size)

    levels = synchronization.live_levels(mapping.scale_levels(inst), found)

    assert (None if level is None else {"dbs": level}) == levels
    assert (level in (0, 2)) is sync_db.is_changed(inst, found)
    if levels:
        sync_db.note_levels(inst, levels)
        assert levels == mapping.scale_levels(stored(inst))


def test_a_package_without_a_vnfd_keeps_its_levels():
    """There is nothing to say then."""
    inst = instance()

    assert {"dbs": 1} == synchronization.live_levels(
        mapping.scale_levels(inst), seen({}, vnfd=None, DB=4)
    )


def test_an_instance_that_is_worked_on_is_left_alone():
    """By its record, or by who holds its lock."""
    assert "" == synchronization.busy_reason(seen({}))
    assert "scaling" in synchronization.busy_reason(
        seen({}, phase=Phase.SCALING)
    )
    assert "host/1" in synchronization.busy_reason(seen({}, holder="host/1"))


@given(
    st.dictionaries(
        st.text("abc", min_size=1),
        st.lists(st.text("0123456789", min_size=3), unique=True, max_size=5),
        max_size=3,
    )
)
def test_a_stored_mapping_has_no_difference(uids):
    """Whatever the members are, and through the database."""
    found = {
        vdu: [member(f"n-{uid}", f"{vdu}/{uid}") for uid in listed]
        for vdu, listed in uids.items()
    }

    inst = stored(instance(found))

    assert not sync_db.is_changed(inst, seen(found, vnfd=None))
    assert json.loads(inst.to_json()) == inst.to_dict()
