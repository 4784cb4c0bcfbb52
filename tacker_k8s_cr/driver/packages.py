"""Load the packages that Tacker has unpacked."""

from __future__ import annotations

import functools

from tacker_k8s_cr import package as package_reader
from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import namespaces
from tacker_k8s_cr.driver import vdu_mapping
from tacker_k8s_cr.driver.additional_params import RequestParams
from tacker_k8s_cr.driver.error_text import mark_errors
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import field_validation
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.package import Package


@mark_errors
def load(path: str, params: RequestParams, flavour: str = "") -> Package:
    """Load the package that Tacker unpacked, with the requested manifests."""
    fetch = None
    if remote := [name for name in params.files if "://" in name]:
        # Imported here: requests would double what importing the driver costs.
        from tacker_k8s_cr.package import download

        if not configuration.settings().allow_http_manifests:
            raise errors.RequestInvalid(
                f"the definition file {download.redacted_url(remote[0])} is "
                "a URL, "
                "and the option [tacker_k8s_cr] allow_http_manifests is off"
            )
        deadline = Deadline.after(instances.READ_SECONDS)
        fetch = functools.partial(download.fetch, deadline=deadline)
    return package_reader.load(
        path,
        def_files=params.files or None,
        flavour=flavour,
        fetch=fetch,
        field_validation=params.field_validation
        or configuration.settings().field_validation,
    )


def reload(path: str, files: tuple[str, ...], flavour: str) -> Package:
    """Return the package of an existing instance; it was accepted before."""
    params = RequestParams(files=files, field_validation=field_validation.WARN)
    return load(path, params, flavour)


def load_new(
    path: str, params: RequestParams, flavour: str = ""
) -> tuple[RequestParams, Package]:
    """Return the package of a new instance, and the request with namespace."""
    package = load(path, params, flavour)
    policy = configuration.settings().namespace_mode
    package = namespaces.with_warnings(params, package, policy)
    params, package = vdu_mapping.drop_unmapped(params, package)
    return namespaces.with_namespace(params, package), package
