"""Who is measured when, with what, and what becomes of the numbers."""

import yaml

from tacker_k8s_cr.objects import ObjectRef
from tools.bench import budgets
from tools.bench import rounds
from tools.bench import workload
from tools.bench.rounds import Measured


def test_each_contender_is_first_in_its_turn():
    """What one leaves behind for the next falls on each of them."""
    names = ("a", "b", "c")

    assert [
        ("a", "b", "c"),
        ("b", "c", "a"),
        ("c", "a", "b"),
        ("a", "b", "c"),
    ] == [rounds.order(names, number) for number in range(4)]


def test_config_maps_are_the_same_in_every_run():
    """Runs can be compared, and no object is like another."""
    made = workload.config_maps(50)

    assert made == workload.config_maps(50)
    assert len({one["data"]["text"] for one in made}) == 50
    assert {len(one["data"]["text"]) for one in made} == {workload.SIZE}


def test_peers_get_what_ours_gets(tmp_path):
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


def test_rounds_become_rows_with_the_budgets():
    """Times by the peer of the row, requests for one object."""
    measured = {
        "ours apply": Measured(1.0, 1050),
        "ours delete": Measured(1.5, 1020),
        "ours with dry run apply": Measured(2.0, 2300),
        "ours with dry run delete": Measured(1.0, 1020),
        "kubectl apply": Measured(4.0, 1000),
        "client-go apply": Measured(0.5, 1000),
        "client-go delete": Measured(0.5, 1001),
    }

    found = budgets.of_rounds([measured], objects=1000)

    assert [
        ("apply, no dry run: time of kubectl's", 0.25, True),
        ("apply, no dry run: rate of client-go's", 0.5, False),
        ("apply, no dry run: requests for an object", 1.05, True),
        ("apply, dry run: time of kubectl's", 0.5, True),
        ("apply, dry run: requests for an object", 2.3, False),
        ("terminate: time of client-go's", 3.0, False),
        ("terminate: requests for an object", 1.02, None),
    ] == [
        (row.name, row.ratio.median if row.ratio else row.ours, row.met)
        for row in found
    ]


def test_waits_become_rows_with_the_budgets():
    """The median and the 99th percentile, in milliseconds."""
    found = budgets.of_latency([0.02] * 20 + [0.25])

    assert [(20, True), (250, False)] == [(row.ours, row.met) for row in found]
