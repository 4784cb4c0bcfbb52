"""Log from a script that the conductor runs, to the conductor's files.

If it fails, its standard error becomes part of the error; otherwise Tacker
does not read it.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import logging

from oslo_config import cfg
from oslo_log import log

PRODUCT = "tacker-k8s-cr"


@contextlib.contextmanager
def of_script(conf: cfg.ConfigOpts) -> Iterator[None]:
    """Log by the options, but never to the standard error.

    Without a file, a folder, syslog or the journal nothing is logged.

    :param conf: with the options of oslo.log.
    """
    somewhere = (
        conf.log_file or conf.log_dir or conf.use_syslog or conf.use_journal
    )
    if somewhere and not conf.log_config_append:
        conf.set_override("use_stderr", False)
        # Two processes that rename one file would lose lines.
        conf.set_override("log_rotation_type", "none")
        log.setup(conf, PRODUCT)
        yield
        return
    no_handlers = logging.NullHandler()
    root = logging.getLogger()
    root.addHandler(no_handlers)
    try:
        yield
    finally:
        root.removeHandler(no_handlers)
