"""Read one YAML document as Kubernetes reads it.

Scalars follow `yaml_scalars`, keys are text, aliases are copied up to a limit,
and each error has a line and a column.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import re
from typing import Any

import yaml

from tacker_k8s_cr.package import yaml_doubts
from tacker_k8s_cr.package import yaml_loader
from tacker_k8s_cr.package import yaml_scalars
from tacker_k8s_cr.package.yaml_loader import PLAIN
from tacker_k8s_cr.package.yaml_loader import YamlError
from tacker_k8s_cr.package.yaml_loader import position

MAX_ALIASED = 100_000
"""Values that all aliases of one document stand for."""

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character in UTF-16; it cannot be sent."""

DUPLICATE_KEY = "is there twice in one mapping"
LAST_WINS = "the last one counts"

Written = Mapping[tuple[int, str], str]
"""How keys that are not strings are written, by the identity of their mapping
and their name in it: ``n`` is the key ``false``."""


def duplicate_key_message(name: str, written: str = "") -> str:
    """Return what is wrong with a mapping that has a key twice."""
    if written in ("", name):
        return f"the key {name!r} {DUPLICATE_KEY}"
    return f"the key {written!r}, which is read as {name!r}, {DUPLICATE_KEY}"


def read(
    text: str, *, lenient: bool = False, doubts: list[YamlError] | None = None
) -> tuple[Any, int, Written]:
    """Return the only document of a chunk, its first line, and its odd keys.

    :param lenient: of a repeated key, the last one counts.
    :param doubts: receives places that may not have the intended meaning.
    """
    root = yaml_loader.compose(text)
    if root is None:
        return None, 0, {}
    builder = _Builder(text, lenient, [] if doubts is None else doubts)
    value = builder.value(root)
    return value, root.start_mark.line, builder.written


@dataclasses.dataclass
class _Mapping:
    """A mapping that is being built.

    :ivar explicit: the keys that the mapping itself has, without merges.
    """

    value: dict[str, Any] = dataclasses.field(default_factory=dict)
    explicit: set[str] = dataclasses.field(default_factory=set)


class _Builder:
    """Makes the values of one document from its nodes."""

    def __init__(
        self, text: str, lenient: bool, doubts: list[YamlError]
    ) -> None:
        self.written: dict[tuple[int, str], str] = {}
        self._text = text
        self._lenient = lenient
        self._doubts = doubts
        self._kept: list[Any] = []  # so that no identity is used again
        self._sizes: dict[int, int] = {}  # 0 while a node is incomplete
        self._size = 0
        self._aliased = 0
        self._copies = 0

    def value(self, node: yaml.Node) -> Any:
        """Return the value of a node; of an alias, a copy."""
        if isinstance(node, yaml.ScalarNode):
            return self._number(self._scalar(node), node)
        known = self._sizes.get(id(node))
        if known is not None:
            return self._copy(node, known)
        self._sizes[id(node)] = 0
        before = self._size
        built = self._collection(node)
        self._sizes[id(node)] = self._size - before
        return built

    def _copy(self, node: yaml.Node, size: int) -> Any:
        if not size:
            what = "the anchor of this alias contains itself"
            raise YamlError(what, *yaml_loader.recursive_alias(self._text))
        if not self._copies:  # the size includes aliases in the node
            self._aliased += size
        if self._aliased > MAX_ALIASED:
            what = f"aliases stand for more than {MAX_ALIASED} values"
            raise _error(what, node)
        self._copies += 1
        built = self._collection(node)
        self._copies -= 1
        return built

    def _collection(self, node: yaml.Node) -> Any:
        self._size += 1
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item) for item in node.value]
        mapping = _Mapping()
        for key, item in node.value:
            if key.tag is PLAIN and key.value == "<<":
                self._merge(mapping, item)
            else:
                name = self._key(mapping, key)
                mapping.value[name] = self.value(item)
        return mapping.value

    def _scalar(self, node: yaml.ScalarNode) -> yaml_scalars.Scalar:
        self._size += 1
        text: str = node.value
        if node.tag is PLAIN:
            value = yaml_scalars.plain_value(text)
            if value is not text:
                self._doubt(yaml_doubts.scalar_warning(text, value), node)
            return value
        if not text.isascii() and SURROGATE.search(text):
            # libyaml refuses it; PyYAML's own reader does not.
            raise _error("half of a surrogate pair is not text", node)
        try:
            return yaml_scalars.tagged_value(node.tag, text)
        except ValueError as error:
            raise _error(str(error), node) from None

    def _number(
        self, value: yaml_scalars.Scalar, node: yaml.Node
    ) -> yaml_scalars.Scalar:
        if isinstance(value, str):
            return value
        try:
            return yaml_scalars.to_json_number(value)
        except ValueError as error:
            raise _error(str(error), node) from None

    def _key(self, mapping: _Mapping, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise _error("a key is a mapping or a sequence", node)
        try:
            name = yaml_scalars.field_name(self._scalar(node))
        except ValueError as error:
            raise _error(str(error), node) from None
        written: str = node.value
        if name in mapping.explicit:
            message = duplicate_key_message(name, written)
            if not self._lenient:
                raise _error(message, node)
            self._doubt(f"{message}; {LAST_WINS}", node)
        if written != name:
            self._remember(mapping.value, name, written)
        elif self.written:
            self.written.pop((id(mapping.value), name), None)
        mapping.explicit.add(name)
        return name

    def _merge(self, mapping: _Mapping, node: yaml.Node) -> None:
        """Add the mappings of a merge, the first of them last.

        In Kubernetes a merge wins over the keys that precede it.
        """
        value = self.value(node)
        merged = value if isinstance(value, list) else [value]
        if not all(isinstance(one, dict) for one in merged):
            what = "<< takes a mapping or a sequence of mappings"
            raise _error(what, node)
        for one in reversed(merged):
            doubt = yaml_doubts.merge_warning(
                mapping.value, mapping.explicit, one
            )
            self._doubt(doubt, node)
            mapping.value.update(one)
            for name in one:
                if written := self.written.get((id(one), name)):
                    self._remember(mapping.value, name, written)

    def _remember(self, container: Any, name: str, written: str) -> None:
        self.written[id(container), name] = written
        self._kept.append(container)

    def _doubt(self, what: str, node: yaml.Node) -> None:
        if what and not self._copies:
            self._doubts.append(_error(what, node))


def _error(what: str, node: yaml.Node) -> YamlError:
    return YamlError(what, *position(node.start_mark))
