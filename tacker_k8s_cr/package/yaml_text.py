"""One YAML document, put together as Kubernetes does it.

PyYAML (with libyaml where it has it) splits the text into events; what they
mean is decided here and in `scalars`. Nothing recurses, aliases are copied
up to a limit, and every fault has its line and column.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from typing import Any

import yaml

from tacker_k8s_cr.package import scalars

MAX_DEPTH = 200
"""Of mappings and sequences within each other; no known CRD needs 60."""

MAX_ALIASED = 100_000
"""Values that the aliases of one document may stand for, all together."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character in UTF-16; it cannot be sent."""

_MERGE = object()


class Fault(Exception):
    """What is wrong at a line and column, both counted from zero."""

    def __init__(self, what: str, line: int, column: int):
        self.what = what
        self.line = line
        self.column = column
        super().__init__(what)


def again(name: str) -> str:
    """What is wrong with a mapping that has a key twice."""
    return f"the key {name!r} is there twice in one mapping"


def read(text: str) -> tuple[Any, int]:
    """The only document of a chunk and its first line."""
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark and error.context_mark and mark.line > text.count("\n"):
            # At the end of the text: where it began says more.
            mark = error.context_mark
        what = error.problem or error.context or "no YAML"
        at = (mark.line, mark.column) if mark else (0, 0)
        raise Fault(what, *at) from None
    except yaml.reader.ReaderError as error:
        before = text.encode()[: error.position].decode(errors="replace")
        line = before.count("\n")
        column = len(before) - before.rfind("\n") - 1
        raise Fault(str(error.reason), line, column) from None
    return builder.value, builder.line


@dataclasses.dataclass
class _Frame:
    """A mapping or sequence that is not at its end yet."""

    container: Any
    anchor: str | None
    size: int
    explicit: set[str] = dataclasses.field(default_factory=set)
    key: Any = None


class _Builder:
    """Puts the events of one document together."""

    def __init__(self) -> None:
        self.value: Any = None
        self.line = 0
        self._documents = 0
        self._frames: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._size = 0
        self._aliased = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent):
            self._open({}, event)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._open([], event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close(event)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _fault("more follows the end of the document", event)
            self.line = _place(event)[0]

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        value: Any
        expects_key = self._expects_key()
        if event.tag is None and event.implicit[0]:
            if expects_key and event.value == "<<":
                self._frames[-1].key = _MERGE
                return
            value = scalars.plain(event.value)
        elif event.tag is None:
            value = event.value
            if not value.isascii() and SURROGATE.search(value):
                # libyaml refuses it; PyYAML's own reader does not.
                raise _fault("half of a character is no text", event)
        else:
            try:
                value = scalars.tagged(event.tag, event.value)
            except ValueError as error:
                raise _fault(str(error), event) from None
        if not expects_key and not isinstance(value, str):
            try:
                value = scalars.number(value)
            except ValueError as error:
                raise _fault(str(error), event) from None
        self._size += 1
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)
        self._put(value, event)

    def _open(self, container: Any, event: yaml.CollectionStartEvent) -> None:
        if self._expects_key():
            raise _fault("a key is a mapping or a sequence", event)
        if len(self._frames) == MAX_DEPTH:
            raise _fault("nested too deeply", event)
        self._size += 1
        if event.anchor:
            # Until it is complete, nothing can refer to it.
            self._anchors.pop(event.anchor, None)
        self._frames.append(_Frame(container, event.anchor, self._size))

    def _close(self, event: yaml.Event) -> None:
        frame = self._frames.pop()
        if frame.anchor:
            size = self._size - frame.size + 1
            self._anchors[frame.anchor] = (frame.container, size)
        self._put(frame.container, event)

    def _alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self._anchors:
            open_ = any(f.anchor == event.anchor for f in self._frames)
            why = "contains itself" if open_ else "is not known"
            # Its name is not told: a password without quotes that begins
            # with an asterisk is an alias.
            raise _fault(f"the anchor of this alias {why}", event)
        value, size = self._anchors[event.anchor]
        self._aliased += size
        self._size += size
        if self._aliased > MAX_ALIASED:
            what = f"aliases stand for more than {MAX_ALIASED} values"
            raise _fault(what, event)
        self._put(copy.deepcopy(value), event)

    def _expects_key(self) -> bool:
        if not self._frames:
            return False
        frame = self._frames[-1]
        return isinstance(frame.container, dict) and frame.key is None

    def _put(self, value: Any, event: yaml.Event) -> None:
        if not self._frames:
            self.value = value
            return
        frame = self._frames[-1]
        if isinstance(frame.container, list):
            frame.container.append(value)
        elif frame.key is None:
            self._key(frame, value, event)
        elif frame.key is _MERGE:
            frame.key = None
            _merge(frame.container, value, event)
        else:
            frame.container[frame.key] = value
            frame.key = None

    def _key(self, frame: _Frame, value: Any, event: yaml.Event) -> None:
        if isinstance(value, dict | list):
            raise _fault("a key is a mapping or a sequence", event)
        try:
            name = scalars.key(value)
        except ValueError as error:
            raise _fault(str(error), event) from None
        if name in frame.explicit:
            raise _fault(again(name), event)
        frame.explicit.add(name)
        frame.key = name


def _merge(container: Any, value: Any, event: yaml.Event) -> None:
    """Kubernetes lets a merge win over the keys that stand before it."""
    merged = value if isinstance(value, list) else [value]
    for mapping in reversed(merged):
        if not isinstance(mapping, dict):
            what = "<< takes a mapping or a sequence of mappings"
            raise _fault(what, event)
        container.update(mapping)


def _fault(what: str, event: yaml.Event) -> Fault:
    return Fault(what, *_place(event))


def _place(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line, mark.column) if mark else (0, 0)
