"""What an object says of the member of a name: by ``properties``, by patterns of names, else by what is left.

Undeclared names fall into regions, each with the schema of all patterns that fit it. A region of a few names becomes
members of its own, so that none of them is given twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tacid.grammar.automata import language_node
from tacid.grammar.context import Nothing, Scope
from tacid.grammar.keys import MAX_CHARACTERS, other_keys
from tacid.grammar.names import names_fitting
from tacid.grammar.nodes import Lit, Node
from tacid.grammar.primitives import STRING, VALUE
from tacid.grammar.shapes import alt, seq
from tacid.grammar.tree import json_literal
from tacid.patterns import ANY_TEXT, Language, TooLarge, of_texts
from tacid.patterns.regions import Regions, regions
from tacid.schema.join_objects import matches, pattern_language
from tacid.schema.keywords import LATE, OPEN
from tacid.schema.merge import both as both_schemas
from tacid.schema.refs import escape_token

#: Regions that undeclared names may fall into.
MAX_REGIONS = 64
#: Names that may be given in any order, each once.
MAX_FREE = 5
#: Keywords by which members may be declared elsewhere than in ``properties``; with these an object stays open.
_ELSEWHERE = ("$dynamicRef", "$recursiveRef", OPEN)
_COLON = Lit('":')


@dataclass(frozen=True)
class Members:
    """What an object schema says of the members of each name."""

    scope: Scope
    schema: Mapping[str, Any]
    pointer: str

    @cached_property
    def declared(self) -> Mapping[str, Any]:
        """The schemas of ``properties``."""
        return self._mapping("properties")

    @cached_property
    def late(self) -> frozenset[str]:
        """The names of ``properties`` that only conditions speak of."""
        return frozenset(self.schema.get(LATE, ()))

    @cached_property
    def patterns(self) -> Mapping[str, Any]:
        """The schemas of ``patternProperties``."""
        return self._mapping("patternProperties")

    @cached_property
    def silent(self) -> bool:
        """Whether nothing is said of undeclared members."""
        return "additionalProperties" not in self.schema

    @cached_property
    def others(self) -> Any:
        """The schema of members that neither ``properties`` nor a pattern declares; ``False`` where there are none.

        Where nothing is said of them, an object that declares ``properties`` is closed, unless the scope has open
        objects; one that declares none is open.
        """
        if not self.silent:
            return self.schema["additionalProperties"]
        if self.scope.open_objects or any(keyword in self.schema for keyword in _ELSEWHERE):
            return True
        return "properties" not in self.schema and not self.patterns

    @cached_property
    def names(self) -> Language:
        """The names that ``propertyNames`` lets be."""
        if self.schema.get("propertyNames", True) is True:
            return ANY_TEXT
        found = names_fitting(self.scope, self.schema["propertyNames"])
        if found is None:
            self.scope.lose(self.pointer)("propertyNames")
            return ANY_TEXT
        return found

    def value(self, key: str, *, demanded: bool) -> Node | Nothing:
        """The value of the member of a name. What is demanded and not declared may be given even where no other may."""
        schema: Any = True
        places: list[str] = []
        if key in self.declared:
            schema, places = self.declared[key], [f"{self.pointer}/properties/{escape_token(key)}"]
        if self.names is not ANY_TEXT and not self.names.accepts(key):
            return Nothing(f"{self.pointer}/propertyNames", f"no member may be called {key!r}")
        unsure = False
        for pattern, inner in self.patterns.items():
            matched = matches(pattern, key)
            unsure = unsure or matched is None
            if matched:
                schema = both_schemas(schema, inner)
                places.append(f"{self.pointer}/patternProperties/{escape_token(pattern)}")
        if unsure:
            self.scope.lose(self.pointer)("patternProperties")
        elif not places:
            schema = True if demanded and self.silent and self.others is False else self.others
            places = [self.pointer if self.silent else f"{self.pointer}/additionalProperties"]
        if schema is False and not places[0].endswith(f"/properties/{escape_token(key)}"):
            return Nothing(f"{self.pointer}/required", f"{key!r} is required and may not be given")
        if len(places) > 1:
            return self.scope.merged(schema, self.pointer)
        return self.scope.node(schema, places[0] if places else self.pointer)

    def member(self, key: str, value: Node) -> Node:
        """The text of a member."""
        return seq(Lit('"'), json_literal(key), _COLON, self.scope.small("value", value))

    def further(self, taken: Iterable[str]) -> tuple[dict[str, Node], Node | None]:
        """Members of names that aren't ``taken``: those of a few names by name, and any other (``None``: none)."""
        names = [*taken]
        if not self.patterns and self.names is ANY_TEXT:
            return {}, self._any_other(names)
        parts = self._parts(names)
        if parts is None:
            return {}, self._unsorted()
        by_value: dict[Node, list[frozenset[int]]] = {}
        for label in parts.labels:
            if len(self.patterns) not in label:
                compiled = self._of_patterns(label)
                if not isinstance(compiled, Nothing):
                    by_value.setdefault(compiled, []).append(label)
        few: dict[str, Node] = {}
        options: list[Node] = []
        for value, labels in by_value.items():
            try:
                language = parts.language(labels)
            except TooLarge:
                return {}, self._unsorted()
            texts = language.texts(MAX_FREE)
            if texts is not None and len(few) + len(texts) <= MAX_FREE:
                few.update(dict.fromkeys(texts, value))
            else:
                options.append(self._pair(self._key(language), value))
        return few, self.scope.rule("pairs", alt(options)) if options else None

    def _parts(self, names: list[str]) -> Regions | None:
        """All names, parted by which patterns they fit, and last, whether they are among ``names``."""
        languages = [pattern_language(pattern) for pattern in self.patterns]
        known = [language for language in languages if language is not None]
        if len(known) < len(languages) or sum(map(len, names)) > MAX_CHARACTERS:
            return None
        # Merging makes many objects of one, which declare the same.
        key = (tuple(self.patterns), frozenset(names)) if self.names is ANY_TEXT else None
        if key is not None and key in self.scope.parted:
            return self.scope.parted[key]
        try:
            parts: Regions | None = regions(self.names, [*known, of_texts(names)])
        except TooLarge:
            parts = None
        if parts is not None and len(parts.labels) > MAX_REGIONS:
            parts = None
        if key is not None:
            self.scope.parted[key] = parts
        return parts

    def _unsorted(self) -> Node:
        self.scope.lose(self.pointer)("patternProperties" if self.patterns else "propertyNames")
        return self._pair(STRING, VALUE)

    def _of_patterns(self, label: frozenset[int]) -> Node | Nothing:
        """The value of a member whose name fits the patterns of these numbers."""
        if not label:
            place = self.pointer if self.silent else f"{self.pointer}/additionalProperties"
            return self.scope.node(self.others, place)
        patterns = [pattern for number, pattern in enumerate(self.patterns) if number in label]
        if len(patterns) == 1:
            return self.scope.node(
                self.patterns[patterns[0]], f"{self.pointer}/patternProperties/{escape_token(patterns[0])}"
            )
        schema: Any = True
        for pattern in patterns:
            schema = both_schemas(schema, self.patterns[pattern])
        return self.scope.merged(schema, self.pointer)

    def _any_other(self, names: list[str]) -> Node | None:
        place = self.pointer if self.silent else f"{self.pointer}/additionalProperties"
        compiled = self.scope.node(self.others, place)
        if isinstance(compiled, Nothing):
            return None
        key: Node = STRING
        if sum(map(len, names)) > MAX_CHARACTERS:
            reason = "the declared names are too many to tell further ones apart from them"
            self.scope.widen(self.pointer, "additionalProperties", reason)
        elif names:
            key = other_keys(names, lambda node: self.scope.rule("key", node), self.scope.builder.have)
        return self._pair(key, compiled)

    def _key(self, language: Language) -> Node:
        """The name of a member, quotes included."""
        if language.is_everything:
            return STRING
        scope = self.scope
        loops: dict[str, Node] = {}
        node = language_node(
            language,
            parts=loops,
            name=lambda: scope.name("key"),
            named=lambda part: scope.rule("key", part),
            tail=Lit('"'),
        )
        return scope.listed(seq(Lit('"'), node), loops)

    def _pair(self, key: Node, value: Node) -> Node:
        return self.scope.rule("pair", seq(key, Lit(":"), self.scope.small("value", value)))

    def _mapping(self, keyword: str) -> Mapping[str, Any]:
        members = self.schema.get(keyword, {})
        if not isinstance(members, Mapping):
            self.scope.widen(self.pointer, keyword, "this is no object of schemas")
            return {}
        return members
