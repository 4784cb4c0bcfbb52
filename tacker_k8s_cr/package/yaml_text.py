"""One YAML document, put together as Kubernetes does it.

PyYAML (with libyaml where it has it) splits the text into events; what they
mean is decided here and in `scalars`. Nothing recurses, aliases are copied
up to a limit, and every fault has its line and column.
"""

from __future__ import annotations

from collections.abc import Mapping
import copy
import dataclasses
import re
from typing import Any

import yaml

from tacker_k8s_cr.package import scalars
from tacker_k8s_cr.package import yaml_doubts

MAX_DEPTH = 200
"""Of mappings and sequences within each other; no known CRD needs 60."""

MAX_ALIASED = 100_000
"""Values that the aliases of one document may stand for, all together."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character in UTF-16; it cannot be sent."""

_MERGE = object()

Written = Mapping[tuple[int, str], str]
"""How keys that are not strings were written, by the identity of their mapping
and the name that they have in it: ``n`` is the key ``false``."""


class Fault(Exception):
    """What is wrong at a line and column, both counted from zero."""

    def __init__(self, what: str, line: int, column: int):
        self.what = what
        self.line = line
        self.column = column
        super().__init__(what)


AGAIN = "is there twice in one mapping"
LAST = "the last one counts"


def again(name: str, written: str = "") -> str:
    """What is wrong with a mapping that has a key twice."""
    if written in ("", name):
        return f"the key {name!r} {AGAIN}"
    return f"the key {written!r}, which is read as {name!r}, {AGAIN}"


def read(
    text: str, *, lenient: bool = False, doubts: list[Fault] | None = None
) -> tuple[Any, int, Written]:
    """The only document of a chunk, its first line, and its odd keys.

    :param lenient: of a repeated key, the last one counts.
    :param doubts: receives places that may not have the intended meaning.
    """
    builder = _Builder(lenient, [] if doubts is None else doubts)
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
    return builder.value, builder.line, builder.written


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

    def __init__(self, lenient: bool, doubts: list[Fault]) -> None:
        self.value: Any = None
        self.line = 0
        self._lenient = lenient
        self._doubts = doubts
        self.written: dict[tuple[int, str], str] = {}
        self._alive: list[Any] = []  # so that no identity comes again
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
            self._doubt(yaml_doubts.of_scalar(event.value, value), event)
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
        copied = copy.deepcopy(value)
        if self.written:
            self._inherit(value, copied)
        self._put(copied, event)

    def _inherit(self, value: Any, copied: Any) -> None:
        """Remember of a copy how its keys were written, at any depth."""
        pairs = [(value, copied)]
        while pairs:
            old, new = pairs.pop()
            if isinstance(old, dict):
                self._take_over(old, new)
                pairs += zip(old.values(), new.values(), strict=True)
            elif isinstance(old, list):
                pairs += zip(old, new, strict=True)

    def _take_over(self, old: Mapping[str, Any], new: Any) -> None:
        for name in old:
            if written := self.written.get((id(old), name)):
                self._remember(new, name, written)

    def _remember(self, container: Any, name: str, written: str) -> None:
        self.written[id(container), name] = written
        self._alive.append(container)

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
            for mapping in _merged(value, event):
                doubt = yaml_doubts.of_merge(
                    frame.container, frame.explicit, mapping
                )
                self._doubt(doubt, event)
                frame.container.update(mapping)
                self._take_over(mapping, frame.container)
        else:
            frame.container[frame.key] = value
            frame.key = None

    def _doubt(self, what: str, event: yaml.Event) -> None:
        if what:
            self._doubts.append(_fault(what, event))

    def _key(self, frame: _Frame, value: Any, event: yaml.Event) -> None:
        if isinstance(value, dict | list):
            raise _fault("a key is a mapping or a sequence", event)
        try:
            name = scalars.key(value)
        except ValueError as error:
            raise _fault(str(error), event) from None
        written = getattr(event, "value", name)
        if name in frame.explicit:
            if not self._lenient:
                raise _fault(again(name, written), event)
            self._doubt(f"{again(name, written)}; {LAST}", event)
        if written != name:
            self._remember(frame.container, name, written)
        elif self.written:
            self.written.pop((id(frame.container), name), None)
        frame.explicit.add(name)
        frame.key = name


def _merged(value: Any, event: yaml.Event) -> list[Mapping[str, Any]]:
    """The mappings of a merge, in the order in which they are put in.

    Kubernetes lets a merge win over the keys that stand before it.
    """
    merged = value if isinstance(value, list) else [value]
    if not all(isinstance(mapping, dict) for mapping in merged):
        what = "<< takes a mapping or a sequence of mappings"
        raise _fault(what, event)
    return merged[::-1]


def _fault(what: str, event: yaml.Event) -> Fault:
    return Fault(what, *_place(event))


def _place(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line, mark.column) if mark else (0, 0)
