"""Requests that an API server counted."""

import pytest

from tools.bench import metrics

# Lines of kube-apiserver 1.36.3's own /metrics.
BEFORE = """\
# HELP apiserver_request_total [STABLE] Counter of apiserver requests
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",\
resource="configmaps",scope="resource",subresource="",verb="APPLY",\
version="v1"} 3
apiserver_request_total{code="409",component="apiserver",dry_run="",group="",\
resource="configmaps",scope="resource",subresource="",verb="APPLY",\
version="v1"} 1
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",\
resource="configmaps",scope="cluster",subresource="",verb="WATCH",\
version="v1"} 8
apiserver_request_total{code="200",component="apiserver",dry_run="",\
group="coordination.k8s.io",resource="leases",scope="resource",\
subresource="",verb="PUT",version="v1"} 664
apiserver_request_total{code="200",component="apiserver",dry_run="",\
group="apps",resource="deployments",scope="resource",subresource="",\
verb="GET",version="v1"} 12
process_cpu_seconds_total 41.5
apiserver_request_duration_seconds_count{resource="configmaps",verb="APPLY"} 9
"""
AFTER = BEFORE.replace('"APPLY",version="v1"} 3', '"APPLY",version="v1"} 103')


@pytest.fixture
def before():
    return metrics.parse_metrics(BEFORE, 10.0)


def after(moment, applied, leases):
    return metrics.RequestCount(
        {
            ("configmaps", "APPLY"): 4 + applied,
            ("configmaps", "WATCH"): 20.0,
            ("leases", "PUT"): 664 + leases,
            ("deployments", "GET"): 500.0,
        },
        moment,
    )


def test_answers_of_all_codes_and_scopes_are_added_up(before):
    """A resource and a verb have one number, whatever the answers were."""
    assert before.by_kind["configmaps", "APPLY"] == 4


def test_other_metrics_are_passed_over(before):
    """Only the counter of requests is read."""
    assert sum(before.by_kind.values()) == 3 + 1 + 8 + 664 + 12


def test_a_total_is_of_what_an_operation_writes(before):
    """Watches, which end when they end, and other kinds do not count."""
    assert before.total() == 4 + 664


def test_a_label_may_hold_an_escaped_quote():
    """Prometheus' text escapes quotes and backslashes in a label."""
    line = (
        r'apiserver_request_total{version="a\"b\\",resource="secrets",'
        'verb="GET"} 2e+03'
    )

    assert metrics.parse_metrics(line, 0.0).by_kind == {
        ("secrets", "GET"): 2000
    }


def test_between_two_counts_are_the_requests_of_the_time_between(before):
    """What was there before does not count."""
    assert metrics.requests_between(before, after(12.0, 1000, 0)) == 1000


def test_background_requests_are_subtracted(before):
    """Lease renewals of components are not counted for the operation."""
    rate = metrics.rate(before, after(20.0, 0, 30))

    assert rate == 3
    assert metrics.requests_between(before, after(12.0, 1000, 6), rate) == 1000


def test_noise_never_makes_a_count_negative(before):
    """An idle stretch that was busier than the measurement leaves none."""
    assert metrics.requests_between(before, after(12.0, 0, 1), noise=3) == 0


def test_requests_of_one_verb_and_resource_can_be_counted(before):
    """Watches too; the caller decides when they end."""
    assert (8, 0) == (
        before.requests("configmaps", "WATCH"),
        before.requests("configmaps", "LIST"),
    )


def test_the_busy_time_of_a_server(before):
    """Two seconds of processor time in four are half a processor."""
    after = metrics.RequestCount({}, 14.0, 43.5)

    assert 0.5 == metrics.busy_processors(before, after)


def test_a_server_without_a_busy_time_counts_as_idle():
    """The wait for an idle server is short."""
    before, after = (
        metrics.parse_metrics("", 1.0),
        metrics.parse_metrics("", 2.0),
    )

    assert 0 == metrics.busy_processors(before, after)
