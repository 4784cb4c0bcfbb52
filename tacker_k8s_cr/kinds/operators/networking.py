"""Operators of service meshes, ingress and networks of nodes."""

from __future__ import annotations

from tacker_k8s_cr.kinds.operators.kind_rules import KindRules

ROWS: tuple[KindRules, ...] = (
    KindRules(
        "networking.istio.io",
        (
            "DestinationRule",
            "EnvoyFilter",
            "Gateway",
            "ProxyConfig",
            "ServiceEntry",
            "Sidecar",
            "VirtualService",
            "WorkloadEntry",
            "WorkloadGroup",
        ),
        "istio.io, Configuration Status Field: disabled by default",
    ),
    KindRules(
        "security.istio.io",
        (
            "AuthorizationPolicy",
            "PeerAuthentication",
            "RequestAuthentication",
        ),
        "istio.io, Configuration Status Field: disabled by default",
    ),
    KindRules(
        "telemetry.istio.io",
        ("Telemetry",),
        "istio.io, Configuration Status Field: disabled by default",
    ),
    KindRules(
        "extensions.istio.io",
        ("WasmPlugin",),
        "istio.io, Configuration Status Field: disabled by default",
    ),
    KindRules(
        "metallb.io",
        (
            "BFDProfile",
            "BGPAdvertisement",
            "BGPPeer",
            "Community",
            "IPAddressPool",
            "L2Advertisement",
        ),
        "metallb/metallb api/v1beta1: their status is empty, or counts",
    ),
    KindRules(
        "sriovnetwork.openshift.io",
        ("SriovNetworkNodePolicy", "SriovNetworkPoolConfig"),
        "k8snetworkplumbingwg/sriov-network-operator api/v1: empty status",
    ),
    KindRules(
        "projectcontour.io",
        ("HTTPProxy",),
        "projectcontour/contour apis/projectcontour/v1/detailedconditions.go",
        ("condition=Valid",),
    ),
)
