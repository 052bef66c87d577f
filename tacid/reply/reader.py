"""The reply as it is written, read as it comes: the envelope's text in, words and calls out."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping

from tacid.chat import Call, CallDelta, CallStart, ReplyEvent, Say, SayDelta, Truncated
from tacid.errors import InputError
from tacid.jsontext import loads
from tacid.reply.json_stream import ObjectReader, StringReader
from tacid.reply.lenient import read_text

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
    "close": {"}": "done"},
}


class EnvelopeReader:
    """Reads ``{"tool":"…","arguments":{…}}`` or ``{"say":"…"}`` from text in any pieces; linear time, bounded memory.

    `feed` gives words and calls as they become certain, `finish` the rest and, last, exactly one completion. The
    deltas of a reply make up its text: those of ``SayDelta`` are ``Say.text``, those of ``CallDelta`` are
    ``Call.text``. Text that is no envelope, of an engine that ignored the grammar, is kept and read leniently at the
    end (`tacid.reply.lenient`), for calls of the tools in ``names`` alone.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        #: Whether the text left the envelope.
        self.left = False
        #: Characters that came after the envelope.
        self.ignored = 0
        self._names = frozenset(names)
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
        if self._due == "say" or (self._said and not self.left):
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
        return [*events, Say("".join(self._said), complete=self._string.closed)]

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
        return [*([SayDelta(read.text)] if read.text else []), Say(read.text, complete=not cut_off)]


class TextReader:
    """The same for a plain chat, where the reply is the text itself."""

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
