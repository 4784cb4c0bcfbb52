"""Who is measured when, with what, and what becomes of the numbers."""

import collections

import pytest
import yaml

from tacker_k8s_cr.model.objects import ObjectRef
from tools.bench import rounds
from tools.bench import workload


def test_each_contender_is_first_in_its_turn():
    """What one leaves behind for the next falls on each of them."""
    names = ("a", "b", "c")

    assert [
        ("a", "b", "c"),
        ("b", "c", "a"),
        ("c", "a", "b"),
        ("a", "b", "c"),
    ] == [rounds.rotate(names, number) for number in range(4)]


def test_config_maps_are_the_same_in_every_run():
    """Runs can be compared, and no object is like another."""
    made = workload.config_maps(50)

    assert made == workload.config_maps(50)
    assert len({one["data"]["text"] for one in made}) == 50
    assert {len(one["data"]["text"]) for one in made} == {workload.SIZE}


def test_peers_get_the_same_manifests(tmp_path):
    """The file holds the manifests of the package."""
    made = workload.config_maps(3)
    workload.write(tmp_path / "objects.yaml", made)

    with open(tmp_path / "objects.yaml") as file:
        assert list(made) == list(yaml.safe_load_all(file))
    assert made == workload.package(made).manifests


def test_a_widget_is_a_manifest():
    """It has all that a reference needs."""
    ref = ObjectRef("demo.example.org", "Widget", "", "one")

    assert ref == ObjectRef.of(workload.widget("one"))


def test_what_repeats_itself_is_as_long_and_no_two_are_alike():
    """Helm keeps the chart twice, in a Secret of at most 1 MiB."""
    made = workload.config_maps(50, drawn=30)

    assert {len(one["data"]["text"]) for one in made} == {workload.SIZE}
    assert len({one["data"]["text"] for one in made}) == 50


def test_of_a_changed_package_one_object_is_another():
    """In what all contenders get to change."""
    before = workload.config_maps(5)

    after = workload.change_text(before, 3)

    assert [3] == [n for n in range(5) if before[n] != after[n]]
    assert before[3]["data"] == after[3]["data"]
    again = workload.change_text(after, 4)
    assert [4] == [n for n in range(5) if after[n] != again[n]]


@pytest.mark.parametrize(("widgets", "kinds"), [(True, 4), (False, 3)])
def test_mixed_objects_are_of_several_kinds(widgets, kinds):
    """In equal parts; no two of them are one object."""
    made = workload.mixed_manifests(12, widgets)

    by_kind = collections.Counter(one["kind"] for one in made)
    assert [12 // kinds] * kinds == list(by_kind.values())
    assert 12 == len({ObjectRef.of(one) for one in made})


def test_definitions_share_groups_and_no_name():
    """Each kind of a group has a name that fits the group."""
    made = workload.definitions(12)

    assert len({one["metadata"]["name"] for one in made}) == 12
    assert len({one["spec"]["group"] for one in made}) == 3
    for one in made:
        spec = one["spec"]
        name = f"{spec['names']['plural']}.{spec['group']}"
        assert name == one["metadata"]["name"]


def test_a_chart_holds_the_manifests(tmp_path):
    """Helm gets what ours gets."""
    made = workload.config_maps(3)
    workload.chart(tmp_path / "chart", made)

    with open(tmp_path / "chart" / "templates" / "objects.yaml") as file:
        assert list(made) == list(yaml.safe_load_all(file))
    with open(tmp_path / "chart" / "Chart.yaml") as file:
        assert "bench" == yaml.safe_load(file)["name"]
