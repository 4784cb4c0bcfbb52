"""Compose the nodes of a YAML document with the rules of Kubernetes.

A loader of PyYAML (of libyaml, where PyYAML has it) that leaves the type of
plain scalars open, limits the depth, and reads anchors that are defined again
and the tag ``!`` as go-yaml does.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

MAX_DEPTH = 200
"""Nested mappings and sequences; no known CRD needs 60."""

PLAIN = "plain"
"""The tag of scalars without quotes and tag, recognized by identity."""

_STR = "tag:yaml.org,2002:str"

_NON_SPECIFIC = re.compile(r"!(?=[\s,\]}]|$)")
"""Finds any tag without a name, which makes a scalar a string."""


class YamlError(Exception):
    """What is wrong at a line and column, both counted from zero."""

    def __init__(self, what: str, line: int, column: int):
        self.what = what
        self.line = line
        self.column = column
        super().__init__(what)


def compose(text: str) -> yaml.Node | None:
    """Return the root of the only document; None if there is no document."""
    try:
        if _NON_SPECIFIC.search(text):
            return _compose(_PythonComposerLoader(text))
        try:
            return _compose(KubernetesLoader(text))
        except yaml.composer.ComposerError:
            return _compose(_PythonComposerLoader(text))
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text) from None
    except yaml.reader.ReaderError as error:
        before = text.encode()[: error.position].decode(errors="replace")
        line = before.count("\n")
        column = len(before) - before.rfind("\n") - 1
        raise YamlError(str(error.reason), line, column) from None


def recursive_alias(text: str) -> tuple[int, int]:
    """Return the place of the first alias inside its own anchor."""
    anchors: list[str | None] = []
    for event in yaml.parse(text, Loader=KubernetesLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            anchors.append(event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchors.pop()
        elif isinstance(event, yaml.AliasEvent) and event.anchor in anchors:
            return position(event.start_mark)
    return 0, 0


def position(mark: Any) -> tuple[int, int]:
    return (mark.line, mark.column) if mark else (0, 0)


def _compose(loader: Any) -> yaml.Node | None:
    try:
        root: yaml.Node | None = loader.get_single_node()
        return root
    finally:
        loader.dispose()


class _KubernetesRules:
    """Leave the type of plain scalars to `yaml_scalars`; limit the depth."""

    _depth = 0

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        if kind is yaml.ScalarNode:
            return PLAIN if implicit[0] else _STR
        return ""

    def descend_resolver(self, parent: yaml.Node | None, index: Any) -> None:
        self._depth += 1
        # A scalar is one level below its mapping or sequence.
        if parent is not None and self._depth > MAX_DEPTH + 1:
            raise YamlError("nested too deeply", *position(parent.start_mark))

    def ascend_resolver(self) -> None:
        self._depth -= 1


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class KubernetesLoader(_KubernetesRules, _Loader):  # type: ignore[misc]
    """A loader that reads YAML as Kubernetes does."""


_Composers: tuple[Any, ...] = (
    (yaml.SafeLoader,)
    if _Loader is yaml.SafeLoader
    else (yaml.composer.Composer, _Loader)
)


class _PythonComposerLoader(_KubernetesRules, *_Composers):  # type: ignore[misc]
    """The same for anchors that are defined again, and for the tag ``!``.

    PyYAML refuses the one and ignores the other. It is slower, since the
    composer on libyaml cannot be changed.
    """

    def __init__(self, text: str):
        _Loader.__init__(self, text)
        self.anchors: dict[str, yaml.Node] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if not isinstance(event, yaml.AliasEvent):
            self.anchors.pop(event.anchor, None)
        if isinstance(event, yaml.ScalarEvent) and event.tag == "!":
            event.tag = _STR
        return super().compose_node(parent, index)


def _syntax_error(error: yaml.MarkedYAMLError, text: str) -> YamlError:
    mark = error.problem_mark or error.context_mark
    if mark and error.context_mark and mark.line > text.count("\n"):
        # At the end of the text: the beginning of the part is more useful.
        mark = error.context_mark
    what = error.problem or error.context or "not YAML"
    if isinstance(error, yaml.composer.ComposerError):
        # PyYAML shows the name of the alias, which may be a password that
        # begins with an asterisk and has no quotes.
        what = (
            "more follows the end of the document"
            if error.context
            else "the anchor of this alias is not known"
        )
    return YamlError(what, *position(mark))
