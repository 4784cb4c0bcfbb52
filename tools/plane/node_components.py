"""The processes of a real node, and their configuration files."""

from __future__ import annotations

from collections.abc import Mapping
import json
import pathlib
import sys
from typing import Any

from tools.plane import credentials
from tools.plane.components import Component
from tools.plane.credentials import NODE_ADDRESS
from tools.plane.credentials import NODE_NAME
from tools.plane.folders import Folders

BRIDGE = "plane0"
PODS = "10.245.0.0/24"
CNI_PLUGINS = "/usr/lib/cni"
PAUSE = "localhost/pause:1"
LABEL = ("plane.tacker-k8s-cr/node", "real")
"""On the node, as a label and as a taint: kwok's nodes stay the default."""
_PORT_FORWARD = pathlib.Path(__file__).resolve().parent / "port_forward.py"
_METRICS = "127.0.0.1:10254"


def socket(folders: Folders) -> pathlib.Path:
    return folders.node / "containerd.sock"


def table(folders: Folders) -> tuple[Component, ...]:
    """In the order of their start."""
    node = folders.node
    return (
        Component(
            "forward",
            "node",
            (
                str(_PORT_FORWARD),
                f"{NODE_ADDRESS}:{credentials.API_PORT}",
                f"127.0.0.1:{credentials.API_PORT + folders.shift}",
            ),
            f"https://{NODE_ADDRESS}:{credentials.API_PORT}/readyz",
            (),
            program=sys.executable,
        ),
        Component(
            "containerd",
            "node",
            (f"--config={node}/containerd.toml",),
            f"http://{_METRICS}/v1/metrics",
            (10254,),
        ),
        Component(
            "kubelet",
            "node",
            (
                f"--config={node}/kubelet.json",
                f"--kubeconfig={folders.pki}/kubelet.kubeconfig",
                f"--root-dir={node}/kubelet",
                f"--hostname-override={NODE_NAME}",
                f"--node-ip={NODE_ADDRESS}",
                "--node-labels=" + "=".join(LABEL),
            ),
            "http://127.0.0.1:10248/healthz",
            (10248, 10250),
        ),
        Component(
            "kube-proxy",
            "node",
            (f"--config={node}/kube-proxy.json",),
            "http://127.0.0.1:10256/healthz",
            (10249, 10256),
        ),
    )


def files(folders: Folders) -> Mapping[pathlib.Path, str]:
    """What the processes read."""
    node = folders.node
    return {
        node / "cni" / "10-plane.conflist": json.dumps(_cni(node)),
        node / "containerd.toml": _containerd(folders),
        node / "kubelet.json": json.dumps(_kubelet(folders)),
        node / "kube-proxy.json": json.dumps(_kube_proxy(folders)),
    }


def _cni(node: pathlib.Path) -> dict[str, Any]:
    return {
        "cniVersion": "1.0.0",
        "name": "plane",
        "plugins": [
            {
                "type": "bridge",
                "bridge": BRIDGE,
                "isGateway": True,
                "ipMasq": False,
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "dataDir": str(node / "ipam"),
                    "ranges": [[{"subnet": PODS}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            }
        ],
    }


def _containerd(folders: Folders) -> str:
    node = folders.node
    # restrict_oom_score_adj: root in a container may not have
    # CAP_SYS_RESOURCE, and no sandbox would start ("can't get final child's
    # PID from pipe").
    return f"""version = 3
root = "{node}/root"
state = "{node}/state"
[grpc]
  address = "{socket(folders)}"
[metrics]
  address = "{_METRICS}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{node}/opt"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{PAUSE}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  cdi_spec_dirs = []
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{CNI_PLUGINS}"]
    conf_dir = "{node}/cni"
"""


def _kubelet(folders: Folders) -> dict[str, Any]:
    node, pki = folders.node, folders.pki
    key, value = LABEL
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS,
        "healthzBindAddress": "127.0.0.1",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{pki}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{pki}/kubelet-server.crt",
        "tlsPrivateKeyFile": f"{pki}/kubelet-server.key",
        "containerRuntimeEndpoint": f"unix://{socket(folders)}",
        "podLogsDir": f"{node}/pod-logs",
        "volumePluginDir": f"{node}/volume-plugins",
        "registerWithTaints": [
            {"key": key, "value": value, "effect": "NoSchedule"}
        ],
        "clusterDNS": ["10.96.0.10"],
        "clusterDomain": "cluster.local",
        # The machine belongs to the user: its swap and its cgroups stay as
        # they are, whichever version of cgroups it has.
        "failSwapOn": False,
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        # Chains of iptables would outlive the kubelet.
        "makeIPTablesUtilChains": False,
        # A nearly full disk must not cause eviction of pods, or removal of
        # images that could not be pulled again.
        "evictionHard": {"nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
    }


def _kube_proxy(folders: Folders) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {
            "kubeconfig": f"{folders.pki}/kube-proxy.kubeconfig"
        },
        "bindAddress": NODE_ADDRESS,
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        "hostnameOverride": NODE_NAME,
        "detectLocalMode": "BridgeInterface",
        "detectLocal": {"bridgeInterface": BRIDGE},
        # Between pods of one bridge an answer goes past the rules that
        # would translate it back, unless it comes to the bridge's address.
        "nftables": {"masqueradeAll": True},
        # The machine's limits of connections stay as they are.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }
