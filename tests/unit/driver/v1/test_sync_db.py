"""Rounds of v1's synchronization, as far as no cluster is needed."""

import http.server
import threading
import types
import uuid

import pytest
from tacker import context as contexts
from tacker import objects
from tacker.common import exceptions

from tacker_k8s_cr.driver.v1 import infra_driver


class Page(http.server.BaseHTTPRequestHandler):
    """Answers instead of an API server that is unreachable."""

    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>Out of office</html>")

    def log_message(self, *_):
        """Nothing."""


@pytest.fixture
def unreachable_vim():
    """A VIM that is away, and what it was asked."""
    with http.server.HTTPServer(("127.0.0.1", 0), Page) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        access = {
            "auth_url": f"http://127.0.0.1:{server.server_port}",
            "bearer_token": "t",
        }
        vim = types.SimpleNamespace(vim_id="v-1", access_info=access)
        yield vim, server.asked
        server.shutdown()
        thread.join()


def test_an_unreachable_vim_is_tried_once_in_a_round(options, unreachable_vim):
    """Tacker reads one instance after the other, in one thread."""
    options(insecure=True)
    vim, asked = unreachable_vim
    driver = infra_driver.KubernetesCr()

    def read_instance(instance):
        info = objects.InstantiatedVnfInfo(instance_id=f"edge/{instance}")
        with pytest.raises(exceptions.TackerException, match="reached"):
            driver.sync_db(
                context=contexts.get_admin_context(),
                vnf_instance=objects.VnfInstance(
                    id=instance, instantiated_vnf_info=info
                ),
                vim_info=vim,
            )
        return len(asked)

    first, *others = [str(uuid.uuid4()) for _ in range(5)]
    once = read_instance(first)
    assert once
    assert {once} == set(map(read_instance, others))
    assert once < read_instance(first)
