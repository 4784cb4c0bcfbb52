"""Many operations on one conductor, one after another."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from tests.e2e import packages
from tools.tacker import rest_api

pytestmark = pytest.mark.plane

MANY, FEW = 200, 20
"""Operations after which the conductor's memory is looked at."""

AT_ONCE = 8
"""As many as the fixture has threads."""


@pytest.fixture
def limited_threads(host):
    """A conductor without more threads than this test keeps busy.

    Its executors begin one whenever none is idle, until they have 64 each,
    and keep them; that is half a megabyte for each, whatever they carried
    out, and takes some five hundred operations.
    """
    usual = host.state.options
    size = ("DEFAULT.executor_thread_pool_size", str(AT_ONCE))
    host.reload(dataclasses.replace(usual, settings=(*usual.settings, size)))
    yield
    host.reload(usual)


def test_the_conductor_keeps_nothing_of_ended_operations(
    host, limited_threads, v1, v2, vim, namespaces, thread_pool, tmp_path
):
    """After 200 operations its memory is within a tenth of that after 20.

    Every other instance lives through the other API.
    """
    manifests = {"a.yaml": [packages.config_map("settings", a="1")]}
    csar = packages.build(tmp_path, manifests)
    v1.upload(csar.path)

    def lived(api, namespace):
        instance = api.create(csar.vnfd)
        body = rest_api.instantiation(
            api, vim, csar.files, namespace=namespace
        )
        api.done(instance, "instantiate", body)
        api.done(instance, "terminate", rest_api.FORCEFUL)
        api.delete(instance)

    # There is a namespace for each that lives at the same time.
    apis, places = itertools.cycle((v1, v2)), itertools.cycle(namespaces)

    def carried_out(operations):
        # Two operations make a life.
        pairs = [(next(apis), next(places)) for _ in range(operations // 2)]
        list(thread_pool.map(lambda pair: lived(*pair), pairs))

    carried_out(FEW)
    few = host.memory()
    carried_out(MANY - FEW)

    assert few * 1.1 > host.memory()
