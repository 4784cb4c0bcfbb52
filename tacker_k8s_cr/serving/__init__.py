"""Which objects of a package others do not work without: pure."""

from tacker_k8s_cr.serving.links import servers

__all__ = ["servers"]
