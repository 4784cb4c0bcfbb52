"""From files on a disk to manifests and numbers."""

from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.package.loader import load

__all__ = ["Document", "Package", "Vnfd", "load"]
