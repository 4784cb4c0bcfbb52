"""The files that git tracks in the project, and a separate checkout."""

from __future__ import annotations

import pathlib
import subprocess


def run_git(folder: pathlib.Path, *words: str) -> str:
    """What git answers in a folder. Raises CalledProcessError.

    What git complains of goes where our own lines go.
    """
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.strip()


def head_commit(project: pathlib.Path) -> str:
    """The full hash of the commit that the project is at."""
    return run_git(project, "rev-parse", "HEAD")


def is_clean(project: pathlib.Path) -> bool:
    """Whether all that git tracks is committed."""
    return not run_git(
        project, "status", "--porcelain", "--untracked-files=no"
    )


def is_known(project: pathlib.Path, commit: str) -> bool:
    """Whether a commit is part of a branch."""
    return commit in run_git(project, "rev-list", "--all").split()


def find_changed_file(
    project: pathlib.Path, before: str, after: str, covers: tuple[str, ...]
) -> str:
    """The first file that differs between two commits; empty if none does.

    :param covers: git pathspecs.
    """
    found = run_git(
        project, "diff", "--name-only", before, after, "--", *covers
    )
    return found.split("\n")[0]


def check_out(
    project: pathlib.Path, commit: str, folder: pathlib.Path
) -> None:
    """Bring a folder to a commit of the project.

    What git ignores there stays: an environment that was made for another
    commit is updated, and not created again.
    """
    if not (folder / ".git").exists():
        run_git(project, "clone", "--quiet", "--no-checkout", ".", str(folder))
    run_git(folder, "fetch", "--quiet", "origin", commit)
    run_git(folder, "checkout", "--quiet", "--force", commit)
    run_git(folder, "clean", "--quiet", "--force", "-d")
