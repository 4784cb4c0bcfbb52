"""Manifests drawn by lot: what authors write, in all the ways they write it.

Some notations a server keeps, some it changes: quantities, ports by number
or as text, empty values, values that it fills in.
"""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

Obj = dict[str, Any]
Drawn = st.SearchStrategy[Any]

GROUP = "drawn.test.example.org"


def has(needed: dict[str, Drawn], **optional: Drawn) -> Drawn:
    """A mapping with all of some fields, and some of the others."""
    return st.fixed_dictionaries(needed, optional=optional)


def rarely(odd: Drawn, usual: Drawn) -> Drawn:
    """Drawn of the first once in eight times: it hides what comes after."""
    return st.integers(0, 7).flatmap(lambda n: odd if n == 4 else usual)


def non_empty_lists(**optional: Drawn) -> Drawn:
    """A mapping with some of these fields, and seldom with none."""
    return rarely(st.just({}), has({}, **optional).filter(bool))


def texts(keys: Drawn, values: Drawn, most: int = 3) -> Drawn:
    """A mapping, seldom an empty one."""
    filled = st.dictionaries(keys, values, min_size=1, max_size=most)
    return rarely(st.just({}), filled)


def several(items: Drawn, most: int = 2) -> Drawn:
    """A list, seldom an empty one."""
    filled = st.lists(items, min_size=1, max_size=most)
    return rarely(st.just([]), filled)


def keyed_lists(items: Drawn, *keys: str, usual: Any = None) -> Drawn:
    """A list of mappings that differ in these keys.

    :param usual: the value of a key that is missing.
    """
    return st.lists(
        items,
        min_size=1,
        max_size=3,
        unique_by=lambda item: tuple(str(item.get(k, usual)) for k in keys),
    )


def mappings_of(*values: Any) -> Drawn:
    return st.sampled_from(values)


WORDS = mappings_of("a", "b", "c-d", "e.f/g", "h_i")
TEXTS = mappings_of("", "a", "1", "true", "b c\n", "ä", "0x1f")
NAMES = mappings_of("one", "two", "three")
LABELS = texts(WORDS, mappings_of("", "x", "y"))
ENCODED = TEXTS.map(lambda text: base64.b64encode(text.encode()).decode())
CPU = mappings_of("1", "1000m", "0.5", "500m", "2", 2, "1.50")
MEMORY = mappings_of("64Mi", "1Gi", "1024Mi", "1e3", "1000", 1000)
PORTS = mappings_of(80, 443, 8080)
NAMED = has({"name": NAMES})

# -- Pods ---------------------------------------------------------------------

PORT = has({"containerPort": PORTS}, protocol=mappings_of("TCP", "UDP"))
CONTAINER = has(
    {"name": NAMES, "image": mappings_of("a:1", "a:2")},
    env=keyed_lists(has({"name": NAMES}, value=TEXTS), "name"),
    resources=non_empty_lists(requests=non_empty_lists(cpu=CPU, memory=MEMORY))
    | st.just({"limits": {"cpu": "9"}}),
    args=several(TEXTS),
    securityContext=non_empty_lists(runAsNonRoot=st.booleans()),
    ports=keyed_lists(PORT, "containerPort", "protocol", usual="TCP"),
)
VOLUME = has({"name": NAMES, "emptyDir": st.just({})}) | has(
    {
        "name": NAMES,
        "configMap": has({"name": NAMES}, defaultMode=mappings_of(420, 256)),
    }
)
POD = has(
    {
        "containers": keyed_lists(CONTAINER, "name"),
        "nodeSelector": st.just({"example.org/none": "such"}),
    },
    volumes=keyed_lists(VOLUME, "name"),
    tolerations=several(has({"key": NAMES}, operator=st.just("Exists"))),
    securityContext=non_empty_lists(fsGroup=st.just(1)),
    terminationGracePeriodSeconds=mappings_of(0, 30),
    hostNetwork=st.just(False),
    priorityClassName=st.just(""),
)
APP: Obj = {"app": "web"}
SELECTOR = st.just({"matchLabels": APP})


def template(**more: str) -> Drawn:
    spec = POD.map(lambda pod: {**pod, **more})
    return has({"metadata": st.just({"labels": APP}), "spec": spec})


# -- Kinds --------------------------------------------------------------------


def spec_of(needed: dict[str, Drawn], **optional: Drawn) -> Drawn:
    return has({"spec": has(needed, **optional)})


SERVICE_PORT = has(
    {"name": NAMES, "port": PORTS},
    protocol=st.just("TCP"),
    targetPort=mappings_of(80, "8080-web", "web"),
)
RULE = has(
    {
        "apiGroups": st.just([""]),
        "resources": st.lists(NAMES, min_size=1, max_size=2),
        "verbs": st.just(["get", "list"]),
    }
)
BACKEND = has(
    {"name": NAMES, "port": mappings_of({"number": 80}, {"name": "web"})}
)
ANYTHING = st.recursive(
    TEXTS | st.booleans() | st.integers(0, 2) | st.none(),
    lambda inner: several(inner) | texts(NAMES, inner, 2),
    max_leaves=4,
)
ITEM = has(
    {"name": NAMES},
    port=mappings_of(1, 2),
    value=TEXTS,
    below=keyed_lists(NAMED, "name"),
)

_PARTS: dict[str, tuple[str, Drawn]] = {
    "ConfigMap": (
        "v1",
        non_empty_lists(
            data=texts(NAMES, TEXTS),
            binaryData=texts(mappings_of("x", "y"), ENCODED),
            immutable=st.just(False),
        ),
    ),
    "Secret": (
        "v1",
        rarely(
            has({"stringData": texts(NAMES, TEXTS)}),
            has({}, data=texts(NAMES, ENCODED), type=st.just("Opaque")),
        ),
    ),
    "Service": (
        "v1",
        spec_of(
            {
                "ports": keyed_lists(SERVICE_PORT, "port").filter(
                    lambda ports: (
                        len({port["name"] for port in ports}) == len(ports)
                    )
                )
            },
            selector=texts(NAMES, NAMES),
            type=st.just("ClusterIP"),
        ),
    ),
    "ServiceAccount": (
        "v1",
        non_empty_lists(
            automountServiceAccountToken=st.booleans(),
            imagePullSecrets=keyed_lists(NAMED, "name"),
        ),
    ),
    "Role": (
        "rbac.authorization.k8s.io/v1",
        non_empty_lists(rules=several(RULE)),
    ),
    "NetworkPolicy": (
        "networking.k8s.io/v1",
        spec_of(
            {"podSelector": non_empty_lists(matchLabels=LABELS)},
            ingress=several(
                non_empty_lists(ports=several(non_empty_lists(port=PORTS)))
            ),
            policyTypes=st.just(["Ingress"]),
        ),
    ),
    "PodDisruptionBudget": (
        "policy/v1",
        spec_of(
            {"selector": SELECTOR, "minAvailable": mappings_of(0, 1, "50%")}
        ),
    ),
    "Ingress": (
        "networking.k8s.io/v1",
        spec_of({"defaultBackend": has({"service": BACKEND})}),
    ),
    "Deployment": (
        "apps/v1",
        spec_of(
            {
                "selector": SELECTOR,
                "template": template(),
                "replicas": st.just(0),
            },
            paused=st.booleans(),
            minReadySeconds=mappings_of(0, 1),
            strategy=st.just({"type": "Recreate"}),
        ),
    ),
    "StatefulSet": (
        "apps/v1",
        spec_of(
            {
                "selector": SELECTOR,
                "template": template(),
                "replicas": st.just(0),
                "serviceName": NAMES,
            }
        ),
    ),
    "CronJob": (
        "batch/v1",
        spec_of(
            {
                "schedule": st.just("0 0 1 1 *"),
                "suspend": st.just(True),
                "jobTemplate": spec_of(
                    {"template": template(restartPolicy="Never")},
                    backoffLimit=mappings_of(0, 6),
                ),
            }
        ),
    ),
    "Gadget": (
        f"{GROUP}/v1",
        has(
            {},
            spec=non_empty_lists(
                text=TEXTS,
                number=mappings_of(0, 1, 1.0, 1.5),
                either=mappings_of(1, "1", "a"),
                defaulted=mappings_of("usual", "other"),
                nothing=mappings_of(None, "a", "b"),
                keyed=keyed_lists(ITEM, "name", "port", usual=1),
                chosen=st.lists(NAMES, max_size=3, unique=True),
                whole=several(TEXTS),
                atomic=texts(NAMES, TEXTS),
                entries=texts(
                    NAMES, non_empty_lists(a=TEXTS, b=st.integers(0, 1))
                ),
                anything=ANYTHING,
            ),
        ),
    ),
}

KINDS = tuple(_PARTS)


@st.composite
def manifest(draw: st.DrawFn, kind: str, name: str, namespace: str) -> Obj:
    """A manifest of a kind, with a label that all have."""
    version, parts = _PARTS[kind]
    labels = {**draw(LABELS), "drawn": "yes"}
    metadata: Obj = {"name": name, "namespace": namespace, "labels": labels}
    if notes := draw(LABELS):
        metadata["annotations"] = notes
    body: Obj = draw(parts)
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}


# -- The schema of a Gadget ---------------------------------------------------


def _typed(kind: str, **more: Any) -> Obj:
    return {"type": kind, **more}


def _list(items: Obj, kind: str, *keys: str) -> Obj:
    found = _typed("array", items=items, **{"x-kubernetes-list-type": kind})
    return {**found, "x-kubernetes-list-map-keys": [*keys]} if keys else found


def _named(**properties: Obj) -> Obj:
    name = {"name": _typed("string")}
    return _typed(
        "object", required=["name"], properties={**name, **properties}
    )


_STRING = _typed("string")
_NUMBER = _typed("integer")
SPEC: Obj = _typed(
    "object",
    properties={
        "text": _STRING,
        "number": _typed("number"),
        "either": {"x-kubernetes-int-or-string": True},
        "defaulted": _typed("string", default="usual"),
        "filled": _typed("string", default="always"),
        "nothing": _typed("string", nullable=True),
        "keyed": _list(
            _named(
                port=_typed("integer", default=1),
                value=_STRING,
                below=_list(_named(), "map", "name"),
            ),
            "map",
            "name",
            "port",
        ),
        "chosen": _list(_STRING, "set"),
        "whole": _list(_STRING, "atomic"),
        "atomic": _typed(
            "object",
            additionalProperties=_STRING,
            **{"x-kubernetes-map-type": "atomic"},
        ),
        "entries": _typed(
            "object",
            additionalProperties=_typed(
                "object", properties={"a": _STRING, "b": _NUMBER}
            ),
        ),
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
    },
)
"""It has each sort of list and mapping that a definition can have."""
