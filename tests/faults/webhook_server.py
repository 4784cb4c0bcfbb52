"""A webhook of the tests: admits everything, converts by renaming.

It may be down for a while: then its port is closed.
"""

from __future__ import annotations

import base64
import contextlib
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
import json
import pathlib
import socket
import ssl
import threading
from typing import Any

from tools.plane import certificates
from tools.plane.folders import write_private


class WebhookServer:
    """Where it is, and a certificate of its own."""

    def __init__(self, folder: pathlib.Path):
        own = certificates.create_server_certificate("hook")
        path = folder / "hook.pem"
        write_private(path, own.certificate + own.key)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(path)
        self._ca = own.ca
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.asked = 0

    @property
    def client(self) -> dict[str, Any]:
        """How an API server is configured with it."""
        return {
            "url": f"https://127.0.0.1:{self._port}/",
            "caBundle": base64.b64encode(self._ca).decode(),
        }

    def start(self) -> None:
        """Listen, until it is stopped."""
        handler = type("OfHook", (_Handler,), {"hook": self})
        server = ThreadingHTTPServer(("127.0.0.1", self._port), handler)
        server.daemon_threads = True
        server.socket = self._context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, args=(0.05,)
        )
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    # No connection is kept: it would outlive the time when we are away.
    protocol_version = "HTTP/1.0"
    hook: WebhookServer

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        review = json.loads(self.rfile.read(size))
        self.hook.asked += 1
        request = review["request"]
        response: dict[str, Any] = {"uid": request["uid"]}
        if review["kind"] == "ConversionReview":
            version = request["desiredAPIVersion"]
            response["result"] = {"status": "Success"}
            response["convertedObjects"] = [
                {**obj, "apiVersion": version} for obj in request["objects"]
            ]
        else:
            response["allowed"] = True
        kinds = {key: review[key] for key in ("apiVersion", "kind")}
        body = json.dumps({**kinds, "response": response}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        # The client may have disconnected by then.
        with contextlib.suppress(OSError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a test counts what was asked."""


def admit(
    name: str, namespaces: list[str], hook: WebhookServer
) -> dict[str, Any]:
    """Asked for every write of objects in these namespaces.

    Except the record: an operation that cannot write that has nothing to
    finish.
    """
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": "hook.example.org",
                "clientConfig": hook.client,
                "rules": [
                    {
                        "apiGroups": ["*"],
                        "apiVersions": ["*"],
                        "operations": ["CREATE", "UPDATE", "DELETE"],
                        "resources": [
                            *("configmaps", "deployments", "things"),
                            "widgets",
                        ],
                    }
                ],
                "namespaceSelector": {
                    "matchExpressions": [
                        {
                            "key": "kubernetes.io/metadata.name",
                            "operator": "In",
                            "values": namespaces,
                        }
                    ]
                },
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "timeoutSeconds": 5,
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


def convert(definition: dict[str, Any], hook: WebhookServer) -> dict[str, Any]:
    """A definition that stores its objects at an older version."""
    spec = definition["spec"]
    (version,) = spec["versions"]
    return {
        **definition,
        "spec": {
            **spec,
            "versions": [
                {**version, "storage": False},
                {**version, "name": "v1alpha1", "storage": True},
            ],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": hook.client,
                    "conversionReviewVersions": ["v1"],
                },
            },
        },
    }
