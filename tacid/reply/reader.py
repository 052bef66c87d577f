"""The reply as it is written, read as it comes: the envelope's text in, words and calls out."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping

from tacid.chat import Call, CallDelta, CallStart, ReplyEvent, Say, SayDelta, Truncated
from tacid.errors import InputError
from tacid.jsontext import loads
from tacid.reply.json_stream import ObjectReader, StringReader, ValueReader
from tacid.reply.lenient import broken_off, read_text

#: Characters of a reply that are read; one that is longer counts as cut off there.
MAX_REPLY = 1 << 20

_SPACE = re.compile(r"[ \t\n\r]*")
#: Where a fixed piece of the envelope is due: which pieces may come, and where each leads.
_FIXED: Mapping[str, Mapping[str, str]] = {
    "open": {"{": "key"},
    "key": {'"tool"': "tool colon", '"say"': "say colon"},
    "tool colon": {":": "name quote"},
    "name quote": {'"': "name"},
    "comma": {",": "arguments key"},
    "arguments key": {'"arguments"': "arguments colon"},
    "arguments colon": {":": "arguments brace"},
    "arguments brace": {"{": "arguments"},
    "say colon": {":": "say quote"},
    "say quote": {'"': "say"},
    "value colon": {":": "value"},
    "close": {"}": "done"},
}


class EnvelopeReader:
    """Reads ``{"tool":"…","arguments":{…}}`` or ``{"say":"…"}`` from text in any pieces; linear time, bounded memory.

    `feed` gives words and calls as they become certain, `finish` the rest and, last, exactly one completion. The
    deltas of a reply make up its text: those of ``SayDelta`` are ``Say.text``, those of ``CallDelta`` are
    ``Call.text``. Text that is no envelope, of an engine that ignored the grammar, is kept and read leniently at the
    end (`tacid.reply.lenient`), for calls of the tools in ``names`` alone. With ``value`` what is said is any JSON
    value, given as its JSON text.
    """

    def __init__(self, names: Collection[str] = (), *, value: bool = False) -> None:
        #: Whether the text left the envelope.
        self.left = False
        #: Characters that came after the envelope.
        self.ignored = 0
        self._names = frozenset(names)
        self._value = ValueReader() if value else None
        self._raw: list[str] = []
        self._size = 0
        self._full = False
        self._due = "open"
        self._fixed = ""
        self._string = StringReader()
        self._object = ObjectReader()
        #: The name as it is written; the arguments as they are written; the words, decoded.
        self._spelled: list[str] = []
        self._arguments: list[str] = []
        self._said: list[str] = []
        self._name: str | None = None

    @property
    def done(self) -> bool:
        """Whether the envelope is closed, so that nothing which follows changes the reply."""
        return self._due == "done"

    def feed(self, delta: str) -> list[ReplyEvent]:
        """The events of more text."""
        events: list[ReplyEvent] = []
        place = 0
        if not self.done:
            room = MAX_REPLY - self._size
            self._full = self._full or len(delta) > room
            delta = delta[:room]
            self._raw.append(delta)
            self._size += len(delta)
        while place < len(delta) and not self.left:
            if self.done:
                self.ignored += len(delta) - place
                break
            place = self._read(delta, place, events)
        return events

    def finish(self, cut_off: bool) -> list[ReplyEvent]:
        """The last events, a completion at their end. ``cut_off``: the engine stopped at a limit, or broke off."""
        cut_off = cut_off or self._full
        raw = "".join(self._raw)
        if self._due in ("say", "value") or (self._said and not self.left):
            return self._finish_say()
        if self._name is not None:
            return self._finish_call(raw)
        if self.left:
            return self._finish_leniently(raw, cut_off)
        if self._due in ("close", "done"):
            return [Say("")]
        return [Truncated(raw)] if cut_off or raw.strip() else [Say("")]

    def _read(self, delta: str, place: int, events: list[ReplyEvent]) -> int:
        if self._due == "say":
            return self._read_say(delta, place, events)
        if self._due == "value":
            return self._read_value(delta, place, events)
        if self._due == "name":
            return self._read_name(delta, place, events)
        if self._due == "arguments":
            return self._read_arguments(delta, place, events)
        return self._read_fixed(delta, place, events)

    def _read_fixed(self, delta: str, place: int, events: list[ReplyEvent]) -> int:
        if not self._fixed and (space := _SPACE.match(delta, place)) and space.end() > place:
            return space.end()
        self._fixed += delta[place]
        pieces = _FIXED[self._due]
        if self._fixed in pieces:
            self._due, self._fixed = pieces[self._fixed], ""
            if self._due == "say colon" and self._value is not None:
                self._due = "value colon"
            if self._due == "arguments":
                return self._read_arguments(delta, place, events)
        elif not any(piece.startswith(self._fixed) for piece in pieces):
            if self._due == "close":
                # The reply is whole; what follows in place of its brace is as idle as what follows the brace.
                self._due = "done"
                return place
            self.left = True
        return place + 1

    def _read_say(self, delta: str, place: int, events: list[ReplyEvent]) -> int:
        text, place = self._string.feed(delta, place)
        self._say(text, events)
        if self._string.closed:
            self._due = "close"
        return place

    def _read_value(self, delta: str, start: int, events: list[ReplyEvent]) -> int:
        assert self._value is not None
        place = self._value.feed(delta, start)
        self._say(delta[start:place], events)
        if self._value.closed:
            self._due = "close"
        return place

    def _say(self, text: str, events: list[ReplyEvent]) -> None:
        if text:
            self._said.append(text)
            events.append(SayDelta(text))

    def _read_name(self, delta: str, start: int, events: list[ReplyEvent]) -> int:
        _, place = self._string.feed(delta, start)
        self._spelled.append(delta[start:place])
        if self._string.closed:
            try:
                # Not as StringReader decodes: a name keeps its lone surrogates.
                name = json.loads('"' + "".join(self._spelled))
            except ValueError:
                name = None
            if name is None or (self._names and name not in self._names):
                self.left = True
            else:
                self._name, self._due = name, "comma"
                events.append(CallStart(name))
        return place

    def _read_arguments(self, delta: str, start: int, events: list[ReplyEvent]) -> int:
        place = self._object.feed(delta, start)
        text = delta[start:place]
        self._arguments.append(text)
        events.append(CallDelta(text))
        if self._object.closed:
            self._due = "close"
        return place

    def _finish_say(self) -> list[ReplyEvent]:
        events: list[ReplyEvent] = []
        self._say(self._string.end(), events)
        closed = self._string.closed if self._value is None else self._value.closed
        return [*events, Say("".join(self._said), complete=closed)]

    def _finish_call(self, raw: str) -> list[ReplyEvent]:
        name = self._name or ""
        if self._object.closed:
            text = "".join(self._arguments)
            try:
                return [Call(name, loads(text, "The call"), text)]
            except InputError:
                return [Truncated(raw, name)]
        if self.left and not self._arguments:
            read = read_text(raw, {name})
            if isinstance(read, Call):
                return [CallDelta(read.text), read]
        return [Truncated(raw, name)]

    def _finish_leniently(self, raw: str, cut_off: bool) -> list[ReplyEvent]:
        read = read_text(raw, self._names)
        if isinstance(read, Call):
            return [CallStart(read.name), CallDelta(read.text), read]
        if cut_off and (broken := broken_off(raw, self._names)) is not None:
            return [*([CallStart(broken.name)] if broken.name is not None else []), broken]
        return [*([SayDelta(read.text)] if read.text else []), Say(read.text, complete=not cut_off)]


class ReplyReader:
    """Reads one envelope, or a JSON list of calls, as `EnvelopeReader` reads one.

    Each `Call` of a list comes from `feed` as soon as it is whole, and `finish` has nothing to add then; for a single
    envelope it ends with the completion. Only the first call of a list comes in deltas as it is written: a list that is
    cut off ends with its last whole call, and a `Truncated` comes only where there is none.
    """

    def __init__(self, names: Collection[str] = (), *, value: bool = False) -> None:
        self._names = frozenset(names)
        self._one = EnvelopeReader(names, value=value)
        self._list: bool | None = None
        self._raw = ""
        self._between = False
        self._ended = False
        self._calls = 0
        #: Events of a later call that are kept until it is whole.
        self._kept: list[ReplyEvent] = []

    @property
    def listing(self) -> bool:
        """Whether the reply is a list of calls."""
        return bool(self._list)

    @property
    def left(self) -> bool:
        """Whether the text left the envelope."""
        return self._one.left

    @property
    def done(self) -> bool:
        """Whether nothing which follows changes the reply."""
        return self._ended if self._list else self._one.done

    def feed(self, delta: str) -> list[ReplyEvent]:
        """The events of more text."""
        if self._list is None:
            delta = delta.lstrip(" \t\r\n")
            if not delta:
                return []
            self._list = delta[0] == "["
            delta = delta[1:] if self._list else delta
        if not self._list:
            return self._one.feed(delta)
        events: list[ReplyEvent] = []
        if len(self._raw) < MAX_REPLY:
            self._raw += delta
        while delta and not self._ended and not self._one.left:
            if self._between:
                delta = self._step(delta)
                continue
            found = self._one.feed(delta)
            delta = delta[len(delta) - self._one.ignored :] if self._one.done else ""
            (events if self._calls == 0 else self._kept).extend(found)
            if self._one.done:
                self._close(events)
        return events

    def _step(self, delta: str) -> str:
        """Over what stands between two calls."""
        delta = delta.lstrip(" \t\r\n")
        if delta[:1] == ",":
            self._one, self._between = EnvelopeReader(self._names), False
        elif delta:
            self._ended = True
        return delta[1:]

    def _close(self, events: list[ReplyEvent]) -> None:
        """A call of the list is whole: what was kept of the one before, and this one's, can be given."""
        found = self._one.finish(False)
        first = self._calls == 0
        self._between = True
        if isinstance(found[-1], Call):
            self._calls += 1
            if first:
                events.extend(found)
            else:
                events.extend([*self._kept, *found])
        self._kept = []

    def finish(self, cut_off: bool) -> list[ReplyEvent]:
        """The last events; with no call given before, a completion stands at their end."""
        if not self._list:
            return self._one.finish(cut_off)
        if self._calls:
            return []
        found = self._one.finish(cut_off)
        if isinstance(found[-1], Truncated) and found[-1].name is not None:
            return found
        read = read_text("[" + self._raw, self._names)
        if isinstance(read, Call):
            return [CallStart(read.name), CallDelta(read.text), read]
        return [Truncated("[" + self._raw)]


class TextReader:
    """The same for a plain chat, where the reply is the text itself."""

    listing = False

    def __init__(self) -> None:
        self._said: list[str] = []

    def feed(self, delta: str) -> list[ReplyEvent]:
        """The events of more text."""
        if not delta:
            return []
        self._said.append(delta)
        return [SayDelta(delta)]

    def finish(self, cut_off: bool) -> list[ReplyEvent]:
        """The completion: all that was said."""
        return [Say("".join(self._said), complete=not cut_off)]
