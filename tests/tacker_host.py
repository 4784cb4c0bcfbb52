"""Tacker as its own processes have it: configured, with a database."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import http
import importlib
import pathlib
from typing import Any
import uuid
import warnings

from cryptography import fernet

MODULES = (
    # It registers options of the command line, which must be known before
    # the configuration is read.
    "tacker.common.config",
    "tacker.common.driver_manager",
    "tacker.context",
    "tacker.db.api",
    "tacker.db.migration.models.head",
    "tacker.manager",
    "tacker.nfvo.drivers.vim.openstack_driver",
    "tacker.nfvo.nfvo_plugin",
    "tacker.objects",
    "tacker.sol_refactored.common.vnf_instance_utils",
    "tacker.sol_refactored.objects",
    "tacker.vnflcm.utils",
    "tacker.vnfm.infra_drivers.abstract_driver",
    "tacker.vnfm.infra_drivers.scale_driver",
    "tacker.vnfm.mgmt_drivers.vnflcm_noop",
)


def load_drivers() -> None:
    """Import what the tests use of Tacker, which warns about itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in MODULES:
            importlib.import_module(name)
        importlib.import_module("tacker.objects").register_all()
        importlib.import_module("tacker.sol_refactored.objects").register_all()
    # eventlet, which Tacker's WSGI server imports, leaves a copy of this
    # module, with green threads, as the attribute of its package. A server
    # of a test that was made from it would never answer.
    http.server = importlib.import_module("http.server")


@contextlib.contextmanager
def override_configuration(**options: Any) -> Iterator[Any]:
    """The options of an empty configuration file, except a few options."""
    load_drivers()
    from oslo_config import cfg

    from tacker_k8s_cr.driver import configuration

    cfg.CONF([], project="tacker", default_config_files=[])
    configuration.settings()
    for name, value in options.items():
        cfg.CONF.set_override(name, value, configuration.GROUP.name)
    try:
        yield cfg.CONF
    finally:
        for name in options:
            cfg.CONF.clear_override(name, configuration.GROUP.name)
        cfg.CONF.reset()


class Host:
    """Tacker's database, with a VIM: what a conductor has around a driver.

    The database is in memory. Credentials of the VIM are encrypted with a
    key in a folder, as Tacker does without a key manager.
    """

    TENANT = "tenant"

    def __init__(self, conf: Any, folder: pathlib.Path):
        from tacker import context
        from tacker import manager

        self.folder = folder
        self.context = context.get_admin_context()
        self.context.tenant_id = self.TENANT
        conf.set_override("openstack", str(folder), "vim_keys")
        conf.set_override("service_plugins", ["nfvo"])
        conf.set_override("vim_drivers", ["kubernetes"], "nfvo_vim")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.plugins = manager.TackerManager.get_service_plugins()

    def vim(self, server: str, token: str, ca: str) -> Any:
        """Store a VIM, and give it as an operation gets it."""
        from tacker import objects
        from tacker.db.nfvo import nfvo_db_plugin
        from tacker.vnflcm import utils

        key = fernet.Fernet.generate_key()
        cipher = fernet.Fernet(key)
        vim_id = str(uuid.uuid4())
        (self.folder / vim_id).write_bytes(key)
        nfvo_db_plugin.NfvoPluginDb.create_vim(
            self.plugins["NFVO"],
            self.context,
            {
                "id": vim_id,
                "name": vim_id,
                "description": "",
                "type": "kubernetes",
                "tenant_id": self.TENANT,
                "placement_attr": {"regions": ["default"]},
                "is_default": False,
                "status": "REACHABLE",
                "auth_url": server,
                "vim_project": {"name": "default"},
                "extra": {},
                "auth_cred": {
                    "username": "None",
                    "bearer_token": cipher.encrypt(token.encode()).decode(),
                    "ssl_ca_cert": cipher.encrypt(ca.encode()).decode(),
                },
            },
        )
        named = [
            objects.VimConnectionInfo(
                id="vim", vim_id=vim_id, vim_type="kubernetes", access_info={}
            )
        ]
        found = utils.get_vim(self.context, named)
        return objects.VimConnectionInfo.obj_from_primitive(
            found, self.context
        )

    def stored(self) -> Iterator[tuple[str, str]]:
        """Every row of the database, by its table."""
        import sqlalchemy
        from tacker.db import api
        from tacker.db import model_base

        engine = api.get_engine()
        # A part of Tacker that is imported later describes tables that this
        # database was not made with.
        there = sqlalchemy.inspect(engine).get_table_names()
        with engine.connect() as connection:
            for table in model_base.BASE.metadata.sorted_tables:
                if table.name in there:
                    for row in connection.execute(table.select()):
                        yield f"Tacker's table {table.name}", str(tuple(row))

    def vnf_instance(self, vim: Any) -> Any:
        """A new VNF instance, on this VIM."""
        from tacker import objects

        made = objects.VnfInstance(
            context=self.context,
            vnf_instance_name=str(uuid.uuid4()),
            vnfd_id=str(uuid.uuid4()),
            instantiation_state="NOT_INSTANTIATED",
            vnf_provider="p",
            vnf_product_name="n",
            vnf_software_version="1",
            vnfd_version="1",
            vnf_pkg_id=str(uuid.uuid4()),
            tenant_id=self.TENANT,
            vnf_metadata={},
        )
        made.create()
        made.vim_connection_info = [
            objects.VimConnectionInfo(
                id="vim",
                vim_id=vim.vim_id,
                vim_type="kubernetes",
                access_info={},
            )
        ]
        made.instantiated_vnf_info = objects.InstantiatedVnfInfo(
            flavour_id="simple", vnf_instance_id=made.id, ext_cp_info=[]
        )
        return made


TIMEOUTS = {
    f"{what}_timeout": 240
    for what in (
        *("instantiate", "scale", "heal", "change", "terminate"),
        "webhook",
    )
}


@contextlib.contextmanager
def running_operation(folder: pathlib.Path, **options: Any) -> Iterator[Host]:
    """A database with Tacker's tables, and what it needs of a conductor.

    No operation lasts as long as it may at an operator's.
    """
    with override_configuration(**{**TIMEOUTS, **options}) as conf:
        from oslo_db import options as db_options
        from tacker import manager
        from tacker.db import api
        from tacker.db import model_base

        db_options.set_defaults(conf, connection="sqlite://")
        model_base.BASE.metadata.create_all(api.get_engine())
        try:
            yield Host(conf, folder)
        finally:
            manager.TackerManager.clear_instance()
            conf.clear_override("openstack", "vim_keys")
            conf.clear_override("service_plugins")
            conf.clear_override("vim_drivers", "nfvo_vim")
