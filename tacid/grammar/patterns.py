"""``pattern`` and ``format`` with lengths: straight from the tree where that is small, else by an automaton.

What can't be held within the bounds is widened, the least telling first: lengths, then the format, then look-around
and large counts of the pattern, then the whole. What was found for one schema is kept for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from tacid.grammar.automata import language_node
from tacid.grammar.context import Compiled, Nothing, Scope
from tacid.grammar.drafts import Draft
from tacid.grammar.formats import FORMATS
from tacid.grammar.limits import MAX_PATTERN_BYTES, MAX_PATTERN_COST
from tacid.grammar.nodes import Lit, Ref
from tacid.grammar.primitives import CHAR
from tacid.grammar.shapes import count, seq
from tacid.grammar.straight import bearable, plain, predictive, tree_node
from tacid.patterns.build import search
from tacid.patterns.decide import decided, relaxed
from tacid.patterns.language import Language, TooLarge, both, of_lengths
from tacid.patterns.parse import PatternError, parse
from tacid.patterns.syntax import Cat, Rep, Set, Tree, cat, sizes

#: Stacks that a tree may cost the engine where its automaton would have one.
_FEW_STACKS = 8
#: States of an automaton with lengths; more would print as more than `MAX_PATTERN_BYTES` allows.
_MAX_COUNTED = 1600
#: What a pattern costs whose automaton is too large.
_FAILED = MAX_PATTERN_COST // 5
_QUOTE = Lit('"')
_TOO_LARGE = "with what is beside it, the grammar would be too large"
_RELAXED = "look-around and large counts are not held, or the grammar would be too large"
_NO_ADDRESSES = "beside other keywords, what stands in brackets is not held to be an address"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a string is held to: a pattern, a format that `FORMATS` has, and bounds of its length."""

    pattern: str | None
    format: str | None
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a string is held to in the end (``None``: nothing fits), keywords given up, each with why, and the work."""

    draft: Draft | None
    lost: tuple[tuple[str, str], ...]
    cost: int


@dataclass(frozen=True, slots=True)
class _Try:
    """Trees that must all be found in a text of these lengths; ``ours`` if they are a format's."""

    trees: tuple[Tree, ...]
    least: int
    most: int | None
    lost: tuple[tuple[str, str], ...]
    ours: bool = False


def compile_pattern(scope: Scope, wanted: Wanted, pointer: str) -> Compiled:
    """A JSON string of what is wanted; what of it is not held is recorded."""
    builder = scope.builder
    if builder.pattern_cost > MAX_PATTERN_COST:
        wanted, lost = _given_up(wanted)
    else:
        lost = ()
    plan = _plan(wanted)
    builder.pattern_cost += plan.cost
    for keyword, reason in (*lost, *plan.lost):
        scope.widen(pointer, keyword, reason)
    if plan.draft is None and wanted.format is not None:
        # For many a format is a note: what would leave no text is not held.
        scope.widen(pointer, "format", "no text fits it and what stands beside it")
        return compile_pattern(scope, replace(wanted, format=None), pointer)
    if plan.draft is None:
        return Nothing(f"{pointer}/pattern", "no text fits the pattern and lengths beside it")
    key = ("pattern", repr(wanted))
    known = builder.lists.get(key)
    # A rule made for a tool that was left out is gone again.
    if not isinstance(known, Ref) or known.name not in builder.rules:
        known = builder.lists[key] = plan.draft.put(scope, "string")
    return known


def _given_up(wanted: Wanted) -> tuple[Wanted, tuple[tuple[str, str], ...]]:
    """What is wanted without its pattern and format, once they have taken too much work."""
    reason = "the patterns before took all the work that one grammar may"
    lost = [(word, reason) for word in ("pattern", "format") if getattr(wanted, word) is not None]
    return replace(wanted, pattern=None, format=None), tuple(lost)


@lru_cache(maxsize=1024)
def _plan(wanted: Wanted) -> _Plan:
    cost = 0
    hopeless: set[tuple[int, ...]] = set()
    for attempt in _tries(wanted):
        draft: Draft | None = None
        language: Language | None = None
        steps: int | None = 0
        key = tuple(map(id, attempt.trees))
        if key not in hopeless:
            draft, language, steps = _draft(attempt)
        if steps is None:
            hopeless.add(key)
            steps = _FAILED
        cost += steps
        if draft is not None or (language is not None and language.is_empty):
            return _Plan(draft, attempt.lost, cost)
    raise AssertionError("the last try holds no tree and always succeeds")


def _tries(wanted: Wanted) -> Iterator[_Try]:
    """What is tried, from everything on down to lengths alone."""
    lost: tuple[tuple[str, str], ...] = ()
    tree = None
    if wanted.pattern is not None:
        try:
            tree, inexact = decided(parse(wanted.pattern))
        except PatternError as error:
            inexact = f"{error}, so the pattern is not held"
        lost = (("pattern", inexact),) if inexact else ()
    form = FORMATS[wanted.format] if wanted.format is not None else None
    if form is not None:
        loosely = (*lost, ("format", form.inexact or _NO_ADDRESSES)) if form.inexact or form.loose else lost
        exactly = (*lost, ("format", form.inexact)) if form.inexact else lost
        if tree is None:
            yield _Try((form.tree(),), wanted.least, wanted.most, exactly, ours=True)
            yield from _bounded(wanted, (form.loose_tree(),), loosely)
            yield _Try((form.tree(),), 0, None, (*exactly, *_no_bounds(wanted)), ours=True)
        else:
            yield from _bounded(wanted, (tree, form.loose_tree()), loosely)
            yield _Try((tree, form.loose_tree()), 0, None, (*loosely, *_no_bounds(wanted)))
        lost = (*lost, ("format", _TOO_LARGE))
    if tree is not None:
        for one, reasons in ((tree, lost), (relaxed(tree), (*lost, ("pattern", _RELAXED)))):
            yield from _bounded(wanted, (one,), reasons)
            yield _Try((one,), 0, None, (*reasons, *_no_bounds(wanted)))
        lost = (*lost, ("pattern", _TOO_LARGE))
    yield _Try((), wanted.least, wanted.most, lost)


def _bounded(wanted: Wanted, trees: tuple[Tree, ...], lost: tuple[tuple[str, str], ...]) -> Iterator[_Try]:
    """Tries with all bounds, and with the least length alone; none where there are no bounds."""
    if wanted.least > 0 or wanted.most is not None:
        yield _Try(trees, wanted.least, wanted.most, lost)
    if wanted.least > 0 and wanted.most is not None:
        yield _Try(trees, wanted.least, None, (*lost, ("maxLength", _TOO_LARGE)))


def _no_bounds(wanted: Wanted) -> tuple[tuple[str, str], ...]:
    bounds = (("minLength", wanted.least > 0), ("maxLength", wanted.most is not None))
    return tuple((word, _TOO_LARGE) for word, there in bounds if there)


def _draft(wanted: _Try) -> tuple[Draft | None, Language | None, int | None]:
    """The draft of what is tried, ``None`` for one too large; the automaton, if there is one; the work it took.

    The work is ``None`` where the trees are too large whatever the lengths.
    """
    if not wanted.trees:
        draft = Draft()
        draft.node = seq(_QUOTE, count(CHAR, wanted.least, wanted.most, draft.named), _QUOTE)
        return draft, None, 0
    tree = plain(wanted.trees[0]) if len(wanted.trees) == 1 else None
    fitted = None if tree is None else _fitted(tree, wanted.least, wanted.most)
    straight = None
    if fitted is not None and bearable(fitted):
        straight = Draft()
        straight.node = seq(_QUOTE, tree_node(fitted, straight.named), _QUOTE)
        if straight.weight > MAX_PATTERN_BYTES:
            straight = None
        elif wanted.ours or predictive(fitted):
            return straight, None, 0
    if wanted.most is not None and wanted.most > _MAX_COUNTED:
        return None, None, 0
    try:
        language, threads = _together(wanted.trees)
    except TooLarge:
        return None, None, None
    try:
        language = _counted(language, wanted.least, wanted.most)
    except TooLarge:
        return None, None, _FAILED // 4
    steps = len(language.rows) * len(language.classes)
    if language.is_empty:
        return None, language, steps
    draft = Draft()
    draft.node = seq(
        _QUOTE, language_node(language, parts=draft.loops, name=draft.name, named=draft.named, tail=_QUOTE)
    )
    if straight is not None and threads <= _FEW_STACKS and straight.weight * 2 < draft.weight:
        return straight, language, steps
    return (draft if draft.weight <= MAX_PATTERN_BYTES else None), language, steps


def _together(trees: tuple[Tree, ...]) -> tuple[Language, int]:
    """The automaton of all trees, and how many stacks they would cost. Raises `TooLarge`."""
    found = [search(tree) for tree in trees]
    language = found[0].language
    for other in found[1:]:
        language = both(language, other.language)
    return language, max(one.threads for one in found)


def _counted(language: Language, least: int, most: int | None) -> Language:
    """The texts of a language that have a length within bounds. Raises `TooLarge`."""
    shortest, longest = language.sizes
    if least <= shortest and (most is None or (longest is not None and longest <= most)):
        return language
    return both(language, of_lengths(least, most), most=_MAX_COUNTED)


def _fitted(tree: Tree, least: int, most: int | None) -> Tree | None:
    """The tree of those matches of a tree that have a length within bounds, where one of its counts can say so."""
    shortest, longest = sizes(tree)
    if shortest >= least and (most is None or (longest is not None and longest <= most)):
        return tree
    items = tree.items if isinstance(tree, Cat) else (tree,)
    varying = [index for index, item in enumerate(items) if len(set(sizes(item))) > 1]
    if len(varying) != 1:
        return None
    index = varying[0]
    item = items[index]
    if not isinstance(item, Rep) or not isinstance(item.item, Set):
        return None
    others = shortest - item.min
    low = max(item.min, least - others)
    high = item.max if most is None else min(most - others, most if item.max is None else item.max)
    if high is not None and (high < low or high < 0):
        return None
    return cat(*items[:index], Rep(item.item, low, high), *items[index + 1 :])
