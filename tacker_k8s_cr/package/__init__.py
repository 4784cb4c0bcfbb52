"""From files on a disk to manifests and numbers."""

from tacker_k8s_cr.package.loading import load
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.package.model import Vnfd

__all__ = ["Document", "Package", "Vnfd", "load"]
