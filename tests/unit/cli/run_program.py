"""The program in this process, with streams that can be read."""

from __future__ import annotations

import io

from tacker_k8s_cr.cli import shell


def run(*argv: str, connect=None, stdin: bytes = b"") -> tuple[int, str, str]:
    """Return the exit code, and what was written to either stream.

    :param connect: gives the cluster; that of the kubeconfig unless given.
    :param stdin: the content of standard input.
    """
    out = io.StringIO()
    err = io.StringIO()
    program = shell.Shell(
        connect,
        stdin=io.TextIOWrapper(io.BytesIO(stdin)),
        stdout=out,
        stderr=err,
    )
    try:
        code = program.run(list(argv))
    except SystemExit as ended:
        code = ended.code or 0
    return code, out.getvalue(), err.getvalue()
