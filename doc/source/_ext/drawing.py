"""Drawings as SVG from lines of text, narrow enough for a phone.

Colours are those of the page's theme, so that they follow dark mode.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import html
import itertools
import textwrap

WIDTH = 360
LINE = 17
BOX = 190
MIDDLE = 97
LANES = 268
"""Of a diagram of states: its boxes, and where its arcs are."""

CHARACTERS = 50
"""How many characters of a text fit into the width."""


class Drawing:
    """Shapes from top to bottom; ``y`` is where the next one begins."""

    def __init__(self) -> None:
        self.y = 8
        self._behind: list[str] = []
        self._shapes: list[str] = []

    def text(
        self, x: float, y: float, text: str, kind: str = "", anchor: str = ""
    ) -> None:
        anchored = f' text-anchor="{anchor}"' if anchor else ""
        self._shapes.append(
            f'<text x="{x:g}" y="{y:g}" class="{kind}"{anchored}>'
            f"{html.escape(text)}</text>"
        )

    def box(self, x: float, width: float, title: str, lines: Sequence[str]):
        """Draw a box with a title and further lines; return its height."""
        height = 16 + LINE * (1 + len(lines))
        self._shapes.append(
            f'<rect x="{x:g}" y="{self.y:g}" width="{width:g}" '
            f'height="{height:g}" rx="6"/>'
        )
        middle = x + width / 2
        self.text(middle, self.y + 20, title, "title", "middle")
        for number, line in enumerate(lines):
            below = self.y + 20 + LINE * (number + 1)
            self.text(middle, below, line, "", "middle")
        return height

    def path(self, points: str, kind: str = "arrow") -> None:
        self._shapes.append(f'<path d="{points}" class="{kind}"/>')

    def behind(self, points: str, kind: str) -> None:
        self._behind.append(f'<path d="{points}" class="{kind}"/>')

    def dot(self, x: float, y: float, kind: str) -> None:
        self._shapes.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="7" class="{kind}"/>'
        )

    def svg(self, title: str) -> str:
        said = html.escape(title)
        return (
            f'<svg class="diagram" viewBox="0 0 {WIDTH} {self.y + 8:g}" '
            f'role="img" aria-label="{said}" '
            'xmlns="http://www.w3.org/2000/svg">'
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" '
            'markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
            '<path d="M0 0 L10 5 L0 10 z" class="head"/></marker></defs>'
            f"{''.join(self._behind)}{''.join(self._shapes)}</svg>"
        )


def wrapped(text: str, characters: int = CHARACTERS) -> list[str]:
    return textwrap.wrap(text, characters, break_long_words=False)


def layers(rows: Iterable[Sequence[tuple[str, str]]]) -> Drawing:
    """Draw rows of boxes; each box is a name and what it is."""
    drawing = Drawing()
    for number, row in enumerate(rows):
        if number:
            middle = WIDTH / 2
            y = drawing.y
            drawing.path(f"M{middle:g} {y + 2} V{y + 20}")
            drawing.y += 22
        width = (WIDTH - 8 * (len(row) - 1) - 4) / len(row)
        characters = int(width / 6.6)
        texts = [wrapped(said, characters) for _, said in row]
        deepest = max(map(len, texts))
        height = 0
        for place, (name, _) in enumerate(row):
            lines = texts[place] + [""] * (deepest - len(texts[place]))
            height = drawing.box(2 + place * (width + 8), width, name, lines)
        drawing.y += height
    return drawing


def sequence(
    actors: Sequence[str], messages: Sequence[tuple[str, str, str]]
) -> Drawing:
    """Draw messages between actors; each has its text above its arrow."""
    drawing = Drawing()
    width = WIDTH / len(actors)
    middle = {
        actor: width * (place + 0.5) for place, actor in enumerate(actors)
    }
    names = {a: wrapped(a, max(8, int(width / 7.2))) for a in actors}
    deepest = max(map(len, names.values()))
    for actor in actors:
        first, *more = names[actor]
        lines = more + [""] * (deepest - 1 - len(more))
        height = drawing.box(
            middle[actor] - width / 2 + 3, width - 6, first, lines
        )
    drawing.y += height
    top = drawing.y
    for number, (source, target, text) in enumerate(messages, 1):
        drawing.y += 8
        for line in wrapped(f"{number}. {text}"):
            drawing.y += LINE
            drawing.text(4, drawing.y, line, "message")
        drawing.y += 14
        begin, end = middle[source], middle[target]
        if source == target:
            drawing.path(f"M{begin:g} {drawing.y - 4} h22 v12 h-20", "arrow")
            drawing.y += 10
        else:
            drawing.path(f"M{begin:g} {drawing.y} H{end:g}")
        drawing.y += 4
    drawing.y += 10
    for actor in actors:
        drawing.behind(f"M{middle[actor]:g} {top} V{drawing.y}", "life")
    return drawing


def states(
    edges: Sequence[tuple[str, str, str]], notes: dict[str, str]
) -> Drawing:
    """Draw states from top to bottom in the order in which they are named.

    An edge to the next state is an arrow between the two; any other is an
    arc on the right, each in a lane of its own, with a number whose text is
    below the states.
    """
    drawing = Drawing()
    order = list(dict.fromkeys(s for edge in edges for s in edge[:2]))
    follows = {
        (a, b): [text for x, y, text in edges if (x, y) == (a, b)]
        for a, b in itertools.pairwise(order)
    }
    top, bottom = {}, {}
    for place, state in enumerate(order):
        top[state] = drawing.y
        if state in ("(begin)", "(end)"):
            drawing.dot(MIDDLE, drawing.y + 8, state.strip("()"))
            drawing.y += 16
        else:
            note = wrapped(notes.get(state, ""), 28)
            drawing.y += drawing.box(2, BOX, state, note)
        bottom[state] = drawing.y
        texts = follows.get((state, *order[place + 1 : place + 2]), [])
        lines = [line for text in texts for line in wrapped(text, 22)]
        gap = max(26, LINE * len(lines) + 14)
        if lines:
            drawing.path(f"M{MIDDLE} {drawing.y + 2} V{drawing.y + gap - 2}")
            for number, line in enumerate(lines):
                drawing.text(MIDDLE + 8, drawing.y + 17 + LINE * number, line)
        drawing.y += gap if place < len(order) - 1 else 0
    arcs = [e for e in edges if (e[0], e[1]) not in follows]
    _arcs(drawing, arcs, top, bottom)
    return drawing


def _arcs(
    drawing: Drawing,
    arcs: Sequence[tuple[str, str, str]],
    top: dict[str, float],
    bottom: dict[str, float],
) -> None:
    used: dict[str, int] = {}
    texts = []
    for number, (source, target, text) in enumerate(arcs, 1):
        begin = _port(source, top, bottom, used)
        end = _port(target, top, bottom, used)
        turn = 6 if end > begin else -6
        right = LANES + 22 * (number - 1)
        drawing.path(
            f"M{_side(source)} {begin:g} H{right - 6} "
            f"Q{right} {begin:g} {right} {begin + turn:g} "
            f"V{end - turn:g} "
            f"Q{right} {end:g} {right - 6} {end:g} H{_side(target) + 2}"
        )
        middle = (begin + end) / 2
        drawing.dot(right, middle, "number")
        drawing.text(right, middle + 4, str(number), "number", "middle")
        texts += wrapped(f"{number}. {text}")
    drawing.y += 12 if texts else 0
    for line in texts:
        drawing.y += LINE
        drawing.text(4, drawing.y, line)


def _side(state: str) -> int:
    return MIDDLE + 8 if state in ("(begin)", "(end)") else BOX + 2


def _port(
    state: str,
    top: dict[str, float],
    bottom: dict[str, float],
    used: dict[str, int],
) -> float:
    """Return where the next arc meets a state; each has a place of its own."""
    used[state] = used.get(state, 0) + 1
    if state in ("(begin)", "(end)"):
        return top[state] + 8
    return top[state] + min(7 * used[state], bottom[state] - top[state] - 4)
