"""Examples of calls for the system turn, generated from the offered tools themselves.

An example is a request and the envelope that serves it. The request is made of the tool's name and of the values
that the call then uses, so that what a model learns is to copy values, not to prefer one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tacid.catalogue import Catalogue, Tool
from tacid.jsontext import dumps
from tacid.prompt.sample import NoSample, sample, words_of
from tacid.schema.validate import Validators

#: Characters of an example's arguments; a longer one teaches its length.
MAX_ARGUMENTS = 240
#: Tools that are tried for examples, so that a catalogue of thousands costs no more than one of fifty.
MAX_TRIED = 48
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.:/-]{0,63}\Z")

#: How people ask for the changes of the machine's own protocol (`tacid.machine.protocol`), by the tag in ``kind``.
_BY_TAG: Mapping[str, str] = {
    "service_enable": "Turn on {name}, please", "service_disable": "Turn off {name}",
    "service_restart": "Restart {name}", "package_add": "Install {name}", "package_remove": "Uninstall {name}",
    "user_add": "Create the user {name}", "user_remove": "Remove the user {name}",
}  # fmt: skip
_BY_TOOL: Mapping[str, str] = {"facts_get": "What kind of machine is this?"}
_PROPOSE = "propose_changes"


@dataclass(frozen=True, slots=True)
class Example:
    """A request, and the reply that answers it: an envelope in the grammar's own spelling; ``tool``: what it calls."""

    request: str
    reply: str
    tool: str = ""


def say(text: str) -> str:
    """The envelope of an answer."""
    return f'{{"say":{dumps(text)}}}'


def call(name: str, arguments: Mapping[str, Any]) -> str:
    """The envelope of a call."""
    return f'{{"tool":{dumps(name)},"arguments":{dumps(arguments)}}}'


def call_examples(tools: Iterable[Tool], count: int) -> tuple[Example, ...]:
    """At most ``count`` examples of calls, each of valid arguments; deterministic.

    One a tool where there are tools enough: those with the shortest arguments, spread over the catalogue. Else tools
    with a choice inside (a union, an enum) give several. Tools with odd names, or without valid arguments that this
    module can make, are passed over.
    """
    usable = [tool for tool in tools if _PLAIN.match(tool.name)]
    # The machine's own tool first: nothing else shows how a change is spelled.
    usable.sort(key=lambda tool: tool.name != _PROPOSE)
    step = max(1, -(-len(usable) // MAX_TRIED))
    variants = [list(_examples(tool, count)) for tool in usable[::step]]
    variants = [found for found in variants if found]
    if not variants or count <= 0:
        return ()
    if len(variants) >= count:
        return tuple(found[0] for found in _spread(variants, count))
    taken: list[Example] = []
    for round_ in range(count):
        taken += [found[round_] for found in variants if len(found) > round_]
    return tuple(taken[:count])


def example_arguments(tool: Tool, variant: int = 0, *, validators: Validators | None = None) -> dict[str, Any] | None:
    """Small valid arguments for a tool, or ``None``. ``variant`` turns the choices inside (unions, enums)."""
    try:
        made = sample(tool.parameters, variant)
        if not isinstance(made, dict) or len(dumps(made)) > MAX_ARGUMENTS:
            return None
    except (NoSample, ValueError, TypeError, OverflowError, RecursionError):
        return None
    check = validators or Validators(Catalogue((tool,)))
    return None if check.problems(tool.name, made) or tool.name in check.unchecked else made


def _examples(tool: Tool, count: int) -> Iterator[Example]:
    seen: set[str] = set()
    validators = Validators(Catalogue((tool,)))
    for variant in range(count):
        arguments = example_arguments(tool, variant, validators=validators)
        if arguments is None or not _is_plain(arguments):
            continue
        reply = call(tool.name, arguments)
        if reply not in seen:
            seen.add(reply)
            yield Example(_request(tool.name, arguments), reply, tool.name)


def _spread(variants: list[list[Example]], count: int) -> list[list[Example]]:
    """``count`` of them: of each stretch of the catalogue the shortest reply, one without arguments only if need be."""
    edges = [index * len(variants) // count for index in range(count + 1)]
    if f'"{_PROPOSE}"' in variants[0][0].reply and count > 1:
        # Two, of different names: one alone is copied with its name by a small model (docs/words.md).
        own = [[example] for example in variants[0][: max(1, count - 1)][:2]]
        return [*own, *(_spread(variants[1:], count - len(own)) if count > len(own) else [])]
    return [
        min(variants[start:end], key=lambda found: (found[0].reply.endswith(":{}}"), len(found[0].reply)))
        for start, end in pairwise(edges)
    ]


def _request(name: str, arguments: Mapping[str, Any]) -> str:
    if told := _told_by_tag(name, arguments):
        return told
    if not arguments and name in _BY_TOOL:
        return _BY_TOOL[name]
    words = words_of(name) or name
    values = ", ".join(_told(arguments))
    return f"{words.capitalize()}{': ' if values else ''}{values}"


def _told_by_tag(name: str, arguments: Mapping[str, Any]) -> str | None:
    changes = arguments.get("changes")
    if name != _PROPOSE or not isinstance(changes, list) or len(changes) != 1 or not isinstance(changes[0], Mapping):
        return None
    asked, named = _BY_TAG.get(str(changes[0].get("kind"))), changes[0].get("name")
    return asked.replace("{name}", named) if asked and isinstance(named, str) else None


def _told(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _told(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _told(inner, key)
    else:
        label = words_of(key)
        text = value if isinstance(value, str) else dumps(value)
        yield f"{label} {text}".strip()


def _is_plain(value: Any) -> bool:
    """Whether every text in an example is printable ASCII without ``<``: nothing of it may read as an order."""
    if isinstance(value, Mapping):
        return all(_PLAIN.match(key) and _is_plain(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return not isinstance(value, str) or (
        len(value) <= 64 and value.isascii() and value.isprintable() and "<" not in value
    )
