"""The common arguments of all operations."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.plan.options import DEFAULT
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.wait.progress import WaitState

ProgressCallback = Callable[[WaitState], None]


@dataclasses.dataclass(frozen=True)
class Request:
    """An instance, and the settings of operations on it.

    One request serves any number of operations until its deadline.

    :param cluster: the connection to the API server.
    :param instance: the name of the instance.
    :param deadline: for all operations of the request together.
    :param namespace: of objects whose manifest names none. Once the instance
        has a record, a namespace that differs from the recorded one is
        refused.
    :param record_namespace: the namespace of the record, if it is another.
        Every later operation on the instance has to name it, and may omit
        the namespace.
    :param registry: the handlers of kinds.
    :param options: what the caller allows and refuses.
    :param on_progress: called with each change of the awaited objects.
    """

    cluster: Cluster
    instance: str
    _: dataclasses.KW_ONLY
    deadline: Deadline
    namespace: str = ""
    record_namespace: str = ""
    registry: Registry = kinds.BUILT_IN
    options: Options = DEFAULT
    on_progress: ProgressCallback | None = None
