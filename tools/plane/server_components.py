"""Storage and API servers: one of each, or several behind a balancer.

With several, each API server reaches one etcd member, its own, through the
balancer. So one of them can be behind the others, as it can in a cluster
whose control plane nodes run both.
"""

from __future__ import annotations

import sys

from tools.plane import credentials
from tools.plane.components import SERVICES
from tools.plane.components import Component
from tools.plane.folders import Folders

COUNTS = (1, 3, 5)
"""How many a plane may have: etcd wants a majority."""

_ETCD = 12379
"""Client port of the first member; the one after it is for its peers."""
_ETCD_LINKS = 12391
"""Where the first API server reaches its member by way of the balancer."""
_CONTROL = 16440


def table(folders: Folders) -> tuple[Component, ...]:
    """In the order of their start."""
    if folders.servers == 1:
        port = credentials.API_PORT + folders.shift
        return (
            _etcd(folders, 0),
            _apiserver(folders, "kube-apiserver", port, _etcd_port(folders)),
        )
    numbers = range(folders.servers)
    return (
        *(_etcd(folders, number) for number in numbers),
        _balancer(folders),
        *(
            _apiserver(
                folders,
                name(number),
                api_port(folders, number),
                _ETCD_LINKS + folders.shift + number,
            )
            for number in numbers
        ),
    )


def name(number: int) -> str:
    """Return the name of one of several API servers, counted from 0."""
    return f"kube-apiserver-{number + 1}"


def link(number: int) -> str:
    """Return the name of its route to etcd."""
    return f"{name(number)}-etcd"


def member(number: int) -> str:
    """Return the name of one of several etcd members."""
    return f"etcd-{number + 1}"


def api_port(folders: Folders, number: int) -> int:
    return credentials.API_SERVERS + folders.shift + number


def control_url(folders: Folders) -> str:
    """Return the URL where the balancer takes orders."""
    return f"http://127.0.0.1:{_CONTROL + folders.shift}/"


def _etcd_port(folders: Folders, number: int = 0) -> int:
    return _ETCD + folders.shift + 2 * number


def _etcd(folders: Folders, number: int) -> Component:
    several = folders.servers > 1
    names = list(map(member, range(folders.servers))) if several else ["plane"]
    data = folders.etcd / names[number] if several else folders.etcd
    port = _etcd_port(folders, number)
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"
    members = ",".join(
        f"{each}=http://127.0.0.1:{_etcd_port(folders, place) + 1}"
        for place, each in enumerate(names)
    )
    return Component(
        names[number] if several else "etcd",
        "control plane",
        (
            f"--name={names[number]}",
            f"--data-dir={data}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster={members}",
            # On a busy machine a late heartbeat elects another leader.
            "--heartbeat-interval=300",
            "--election-timeout=3000",
            # What the plane holds may be lost with the machine.
            "--unsafe-no-fsync",
            "--log-level=warn",
        ),
        f"{client}/health",
        (port, port + 1),
        binary="etcd",
        group="etcd",
    )


def _balancer(folders: Folders) -> Component:
    numbers = range(folders.servers)
    front = credentials.API_PORT + folders.shift
    control = _CONTROL + folders.shift
    links = [_ETCD_LINKS + folders.shift + number for number in numbers]
    servers = ",".join(
        f"{name(number)}:{api_port(folders, number)}" for number in numbers
    )
    return Component(
        "balancer",
        "control plane",
        (
            "-m",
            "tools.balancer",
            f"--control={control}",
            f"--tcp={front}={servers}",
            *(
                f"--etcd={links[number]}={link(number)}:"
                f"{_etcd_port(folders, number)}"
                for number in numbers
            ),
        ),
        control_url(folders),
        (front, control, *links),
        program=sys.executable,
    )


def _apiserver(folders: Folders, name: str, port: int, etcd: int) -> Component:
    """An API server.

    :param etcd: the port where it reaches its etcd member.
    """
    pki = folders.pki
    return Component(
        name,
        "control plane",
        (
            f"--etcd-servers=http://127.0.0.1:{etcd}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            # Without an address the server searches for a default route, and
            # exits where there is none; with a loopback one it would refuse to
            # write endpoints for the Service kubernetes.
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--cert-dir={folders.temp}",
            f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            f"--client-ca-file={pki}/ca.crt",
            f"--token-auth-file={folders.tokens}",
            *_authentication(folders),
            "--authorization-mode=Node,RBAC",
            # The first is for the real node's kubelet. With the other two a
            # namespace can say by annotations that its pods go there.
            "--enable-admission-plugins=NodeRestriction,PodNodeSelector,"
            "PodTolerationRestriction",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki}/sa.pub",
            f"--service-account-signing-key-file={pki}/sa.key",
            f"--service-cluster-ip-range={SERVICES}",
            "--allow-privileged=true",
            f"--requestheader-client-ca-file={pki}/aggregation-ca.crt",
            "--requestheader-allowed-names=aggregator",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={pki}/aggregator.crt",
            f"--proxy-client-key-file={pki}/aggregator.key",
            "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-certificate-authority={pki}/ca.crt",
            f"--kubelet-client-certificate={pki}/apiserver-kubelet-client.crt",
            f"--kubelet-client-key={pki}/apiserver-kubelet-client.key",
        ),
        f"https://127.0.0.1:{port}/readyz",
        (port,),
        binary="kube-apiserver",
        group="kube-apiserver",
    )


def _authentication(folders: Folders) -> tuple[str, ...]:
    path = folders.authentication
    return (f"--authentication-config={path}",) if path.exists() else ()
