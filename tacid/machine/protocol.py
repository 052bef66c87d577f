"""The typed protocol: the two tools of the machine, and what their arguments mean.

`facts_get` takes nothing. `propose_changes` takes a list of changes, each one of a closed set of kinds that are told
apart by the constant in ``kind``. The JSON Schema of both comes from the types below, so that what a model is shown,
what the sampler is held to and what is accepted are one thing. Rules about the spelling of names that JSON Schema
would need a pattern for stand in the types alone (`_spelled`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from typing_extensions import TypeAliasType

from tacid.catalogue import Tool
from tacid.errors import ProposalInvalid
from tacid.jsontext import quote
from tacid.schema.validate import Problem, pointer_of

FACTS_GET = "facts_get"
PROPOSE_CHANGES = "propose_changes"

#: Changes that one proposal may hold.
MAX_CHANGES = 32
#: Nesting, parts in all, and characters of one text that the value of an option may have.
MAX_VALUE_DEPTH = 16
MAX_VALUE_PARTS = 1000
MAX_VALUE_TEXT = 65_536

_INT64 = 1 << 63
_PLAIN = "[A-Za-z_][A-Za-z0-9_'+-]*"
_QUOTED = r'"[^"\\$\x00-\x1f\x7f]{1,128}"'


def _spelled(pattern: str, what: str) -> Callable[[str], str]:
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        if compiled.fullmatch(text) is None:
            raise ValueError(f"is no {what}")
        return text

    return check


#: A service as the machine's list names it; which names there are, the list says.
ServiceName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=256),
    AfterValidator(_spelled(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]+", "name of a service (it holds control characters)")),
]
#: A package by its attribute path in nixpkgs.
PackageName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=128),
    AfterValidator(_spelled(rf"{_PLAIN}(\.{_PLAIN})*", "package name, such as ripgrep or python3Packages.requests")),
]
#: A NixOS option by its path; a part with signs in it stands in quotes.
OptionName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=256),
    AfterValidator(
        _spelled(rf"{_PLAIN}(\.({_PLAIN}|{_QUOTED}))+", "path of an option, such as services.openssh.enable")
    ),
]
#: A user or group as Linux takes it.
AccountName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=31),
    AfterValidator(_spelled("[a-z_][a-z0-9_-]*", "user or group name: lower-case letters, digits, _ and -")),
]
Port = Annotated[int, Field(ge=1, le=65535)]

NixValue = TypeAliasType(
    "NixValue",
    "bool | int | float | str | list[NixValue] | dict[str, NixValue] | None",
)


def _bounded(value: Any) -> Any:
    parts = 0
    level = [value]
    for _ in range(MAX_VALUE_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += item.values()
                below += item.keys()
            elif isinstance(item, list):
                below += item
            elif isinstance(item, int) and not -_INT64 <= item < _INT64:
                raise ValueError("holds an integer beyond 64 bits")
            elif isinstance(item, str) and len(item) > MAX_VALUE_TEXT:
                raise ValueError(f"holds a text of more than {MAX_VALUE_TEXT:,} characters")
        parts += len(level)
        if parts > MAX_VALUE_PARTS:
            raise ValueError(f"has more than {MAX_VALUE_PARTS:,} parts")
        if not below:
            return value
        level = below
    raise ValueError(f"nests deeper than {MAX_VALUE_DEPTH}")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class ServiceEnable(_Model):
    """Turn a service on."""

    kind: Literal["service_enable"]
    name: ServiceName


class ServiceDisable(_Model):
    """Turn a service off."""

    kind: Literal["service_disable"]
    name: ServiceName


class ServiceRestart(_Model):
    """Restart a service."""

    kind: Literal["service_restart"]
    name: ServiceName


class PackageAdd(_Model):
    """Install a package."""

    kind: Literal["package_add"]
    name: PackageName


class PackageRemove(_Model):
    """Remove a package."""

    kind: Literal["package_remove"]
    name: PackageName


class OptionSet(_Model):
    """Set a NixOS option to a value."""

    kind: Literal["option_set"]
    option: OptionName
    value: Annotated[NixValue, BeforeValidator(_bounded)]


class UserAdd(_Model):
    """Create a user."""

    kind: Literal["user_add"]
    name: AccountName


class UserRemove(_Model):
    """Remove a user."""

    kind: Literal["user_remove"]
    name: AccountName


class GroupAdd(_Model):
    """Create a group."""

    kind: Literal["group_add"]
    name: AccountName


class GroupRemove(_Model):
    """Remove a group."""

    kind: Literal["group_remove"]
    name: AccountName


class FirewallPortOpen(_Model):
    """Open a port in the firewall."""

    kind: Literal["firewall_port_open"]
    port: Port
    protocol: Literal["tcp", "udp"]


class FirewallPortClose(_Model):
    """Close a port in the firewall."""

    kind: Literal["firewall_port_close"]
    port: Port
    protocol: Literal["tcp", "udp"]


#: Every kind of change there is.
CHANGES: tuple[type[_Model], ...] = (
    ServiceEnable, ServiceDisable, ServiceRestart, PackageAdd, PackageRemove, OptionSet, UserAdd, UserRemove,
    GroupAdd, GroupRemove, FirewallPortOpen, FirewallPortClose,
)  # fmt: skip

#: What each kind is called.
KINDS: tuple[str, ...] = tuple(str(model.model_fields["kind"].annotation.__args__[0]) for model in CHANGES)  # type: ignore[union-attr]

#: The kinds whose ``name`` is that of a service.
SERVICE_KINDS = ("service_enable", "service_disable", "service_restart")

ChangeItem = TypeAliasType(
    "ChangeItem",
    Annotated[
        ServiceEnable
        | ServiceDisable
        | ServiceRestart
        | PackageAdd
        | PackageRemove
        | OptionSet
        | UserAdd
        | UserRemove
        | GroupAdd
        | GroupRemove
        | FirewallPortOpen
        | FirewallPortClose,
        Field(discriminator="kind"),
    ],
)


class FactsGet(_Model):
    """Get facts about this machine: its name, system, processor and memory."""


class ProposeChanges(_Model):
    """Change this machine: turn services on or off, install packages, set options, add users, open ports."""

    changes: Annotated[list[ChangeItem], Field(min_length=1, max_length=MAX_CHANGES)]


class _Bare(GenerateJsonSchema):
    """Without titles and OpenAPI's ``discriminator``: they repeat what the names and constants say."""

    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        return value

    def generate(self, schema: Any, mode: JsonSchemaMode = "validation") -> dict[str, Any]:
        bare: dict[str, Any] = _without_noise(super().generate(schema, mode))
        return bare


def _without_noise(schema: Any, names: bool = False) -> Any:
    if isinstance(schema, list):
        return [_without_noise(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_noise(value, names=not names and key in ("properties", "$defs"))
        for key, value in schema.items()
        if names or key not in ("title", "discriminator")
    }


def _tool(name: str, model: type[_Model]) -> Tool:
    schema = model.model_json_schema(schema_generator=_Bare)
    description = schema.pop("description")
    # The arguments first: a model reads from the top, and $defs would stand before them.
    definitions = schema.pop("$defs", {})
    order = sorted(definitions, key=lambda key: (key != "ChangeItem", key == "NixValue"))
    named = {"$defs": {key: definitions[key] for key in order}} if order else {}
    return Tool(name, description, {"type": "object", **schema, **named})


#: The two tools, in the order in which they are offered.
PROTOCOL_TOOLS: tuple[Tool, ...] = (_tool(FACTS_GET, FactsGet), _tool(PROPOSE_CHANGES, ProposeChanges))

_MODELS: Mapping[str, type[_Model]] = {FACTS_GET: FactsGet, PROPOSE_CHANGES: ProposeChanges}


def protocol_tools(*, propose: bool = True) -> tuple[Tool, ...]:
    """The tools of the machine; without ``propose`` the one that only reads."""
    return PROTOCOL_TOOLS if propose else PROTOCOL_TOOLS[:1]


def protocol_problems(name: str, arguments: Any) -> tuple[Problem, ...]:
    """What keeps ``arguments`` from being those of the protocol tool ``name``; nothing for tools of others."""
    if name not in _MODELS:
        return ()
    try:
        _MODELS[name].model_validate(arguments)
    except ValidationError as error:
        return _problems(error, arguments)
    return ()


def parse_proposal(arguments: Any) -> ProposeChanges:
    """The typed proposal in the arguments of `propose_changes`.

    Raises ``ProposalInvalid`` whose ``pointer`` (RFC 6901) and message name the field.
    """
    try:
        return ProposeChanges.model_validate(arguments)
    except ValidationError as error:
        first = _problems(error, arguments)[0]
        raise ProposalInvalid(f"The proposal can't be taken: {first}.", pointer=first.pointer) from None


def _problems(error: ValidationError, arguments: Any) -> tuple[Problem, ...]:
    found: dict[str, str] = {}
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        path = [part for index, part in enumerate(detail["loc"]) if index != 2]  # 2: the tag of the union
        message = detail["msg"].removeprefix("Value error, ")
        if len(path) > 2 and path[2] == "value" and detail["type"] != "missing":
            path = path[:3]  # what follows names the branches of NixValue that were tried
            if detail["type"] != "value_error":
                message = "is no value of an option: null, boolean, number, string, list or set of these"
        found.setdefault(pointer_of(path), _short(message, detail["type"]))
    return tuple(Problem(pointer, message) for pointer, message in list(found.items())[:8])


def _short(message: str, kind: str) -> str:
    if kind == "union_tag_invalid":
        return f'has another "kind" than {", ".join(map(quote, KINDS))}'
    if kind == "union_tag_not_found":
        return 'has no "kind"'
    message = message[:1].lower() + message[1:]
    return message if len(message) <= 200 else message[:199] + "…"


__all__ = [
    "CHANGES",
    "FACTS_GET",
    "KINDS",
    "PROPOSE_CHANGES",
    "PROTOCOL_TOOLS",
    "SERVICE_KINDS",
    "ChangeItem",
    "FactsGet",
    "NixValue",
    "ProposeChanges",
    "parse_proposal",
    "protocol_problems",
    "protocol_tools",
]
