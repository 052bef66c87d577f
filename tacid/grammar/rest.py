"""What a walk has still before it, written down as rules again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tacid.grammar.nodes import EMPTY, Alt, Gate, Lit, Node, Ref, Repeat, Seq
from tacid.grammar.printer import children
from tacid.grammar.stacks import Call, Cell, Place
from tacid.grammar.verify import verify

ROOT = "root"


def rest_of(places: Iterable[Place], rules: Mapping[str, Node]) -> dict[str, Node]:
    """Rules, from ``root``, of what may follow at any of ``places``; pruned and verified.

    Raises ``CompilerBug`` where verification finds a fault.
    """
    places = tuple(places)
    prefix = _free_prefix(rules)
    names = {id(place): f"{prefix}-{index}" for index, place in enumerate(_shared(places))}
    made: dict[str, Node] = {ROOT: _choice([_sequence(place, names, False) for place in places])}
    for place in _shared(places):
        made[names[id(place)]] = _sequence(place, names, True)
    rest = _reached(made, rules)
    if ROOT in rules and _refers(rest.values(), ROOT):
        # The whole grammar's root is met again further down, under a name that what is left can't take from it.
        renamed = f"{prefix}-{ROOT}"
        made = {name: _renamed(node, renamed) for name, node in made.items()}
        others = {renamed if name == ROOT else name: _renamed(node, renamed) for name, node in rules.items()}
        rest = _reached(made, others)
    verify(rest)
    return rest


def choice_of(names: Iterable[str], rules: Mapping[str, Node]) -> dict[str, Node]:
    """Rules, from ``root``, of a text that one of the rules ``names`` matches; none of them may need ``root``."""
    return _reached({ROOT: _choice([Ref(name) for name in names])}, rules)


def _free_prefix(rules: Mapping[str, Node]) -> str:
    """``rest``, or ``rest2`` and so on where the rules are themselves what was left of others."""
    prefix, number = "rest", 1
    while any(name.startswith(f"{prefix}-") for name in rules):
        number += 1
        prefix = f"rest{number}"
    return prefix


def _shared(places: tuple[Place, ...]) -> list[Place]:
    """Places that several stacks lead to, and calls that end in several places: each becomes a rule."""
    met: set[int] = set()
    shared: dict[int, Place] = {}
    todo: list[Place] = list(places)
    while todo:
        place = todo.pop()
        if isinstance(place, Cell):
            below = [place.below]
        elif isinstance(place, Call):
            below = [*place.below]
        else:
            continue
        if id(place) in met or len(below) > 1:
            shared[id(place)] = place
        if id(place) not in met:
            met.add(id(place))
            todo.extend(below)
    return list(shared.values())


def _sequence(place: Place, names: Mapping[int, str], start: bool) -> Node:
    """What is matched from a place on, up to the next place that has a rule of its own."""
    items: list[Node] = []
    while True:
        if id(place) in names and not start:
            items.append(Ref(names[id(place)]))
            break
        start = False
        if isinstance(place, Cell):
            left = _left(place)
            items.extend(left.items if isinstance(left, Seq) else (left,))
            place = place.below
        elif isinstance(place, Call):
            if len(place.below) > 1:
                items.append(_choice([_sequence(below, names, False) for below in place.below]))
                break
            place = place.below[0]
        else:
            break
    return items[0] if len(items) == 1 else Seq(tuple(items))


def _left(cell: Cell) -> Node:
    node, at = cell.node, cell.at
    if isinstance(node, Lit):
        return Lit(node.text[at:])
    if isinstance(node, Seq):
        return Seq(node.items[at:])
    if isinstance(node, Repeat):
        if node.max == at:
            return EMPTY
        return Repeat(node.item, max(0, node.min - at), None if node.max is None else node.max - at)
    return node


def _choice(options: list[Node]) -> Node:
    return options[0] if len(options) == 1 else Alt(tuple(options))


def _named(node: Node) -> set[str]:
    """The rules that a node refers to, gates included."""
    found: set[str] = set()
    todo = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, (Ref, Gate)):
            found.add(one.name)
        else:
            todo.extend(children(one))
    return found


def _reached(made: Mapping[str, Node], rules: Mapping[str, Node]) -> dict[str, Node]:
    """``made``, with the ``rules`` that it needs in their order."""
    wanted = set(made)
    todo = list(made.values())
    while todo:
        for name in _named(todo.pop()) - wanted:
            wanted.add(name)
            todo.append(rules[name])
    return {**made, **{name: node for name, node in rules.items() if name in wanted and name not in made}}


def _refers(nodes: Iterable[Node], name: str) -> bool:
    return any(name in _named(node) for node in nodes)


def _renamed(node: Node, name: str) -> Node:
    """The node with every reference to ``root`` turned to ``name``."""
    if isinstance(node, Ref):
        return Ref(name) if node.name == ROOT else node
    if isinstance(node, Gate):
        return Gate(name) if node.name == ROOT else node
    if isinstance(node, Seq):
        return Seq(tuple(_renamed(item, name) for item in node.items))
    if isinstance(node, Alt):
        return Alt(tuple(_renamed(option, name) for option in node.options))
    if isinstance(node, Repeat):
        return Repeat(_renamed(node.item, name), node.min, node.max)
    return node
