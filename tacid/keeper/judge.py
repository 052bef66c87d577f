"""The verdict on changes and calls: the first rule that fits decides, and is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tacid.jsontext import quote
from tacid.keeper.rules import Rule, Verdict
from tacid.keeper.subject import View, views_of_call, views_of_change
from tacid.machine.protocol import ChangeItem


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, the rule that gave it (none: no rule fits), and why, as a sentence."""

    verdict: Verdict
    rule: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Keeper:
    """Rules in their order; without any, changes are asked about and no tool of the machine's is run unasked."""

    rules: tuple[Rule, ...] = ()

    def change(self, change: ChangeItem, user: str, at: datetime) -> Judgement:
        """The verdict on one change: the strictest over every way of saying it. No rule: ask."""
        own, *others = views_of_change(change)
        found = [self._first(own, user, at) or Judgement(Verdict.ASK, None, "No rule fits, so a person decides.")]
        found += [judged for view in others if (judged := self._first(view, user, at)) is not None]
        return max(found, key=lambda each: each.verdict.strictness)

    def changes(self, changes: Sequence[ChangeItem], user: str, at: datetime) -> tuple[Judgement, ...]:
        """The verdict on each change of a transaction, which gets the strictest of them."""
        return tuple(self.change(change, user, at) for change in changes)

    def call(self, tool: str, user: str, at: datetime, *, server: str | None = None, person: bool) -> Judgement:
        """The verdict on a call that is made here. No rule: ask where there is a ``person`` at a terminal, else deny.

        Where a rule says ask and nobody is there to be asked, that is a denial too.
        """
        (view,) = views_of_call(tool, server)
        judged = self._first(view, user, at) or Judgement(Verdict.ASK, None, "No rule fits.")
        if judged.verdict is Verdict.ASK and not person:
            return Judgement(Verdict.DENY, judged.rule, f"{judged.why} Nobody is there to be asked, so it is denied.")
        return judged

    def client_call(self, tool: str, user: str, at: datetime) -> Judgement | None:
        """The verdict on a tool of a client's own request, which runs there: only where a rule names it."""
        (view,) = views_of_call(tool)
        named = (rule for rule in self.rules if rule.tool is not None)
        return next((_judged(rule) for rule in named if rule.fits(view, user, at)), None)

    def _first(self, view: View, user: str, at: datetime) -> Judgement | None:
        return next((_judged(rule) for rule in self.rules if rule.fits(view, user, at)), None)


def _judged(rule: Rule) -> Judgement:
    words = {Verdict.ALLOW: "allows it", Verdict.ASK: "wants a person to decide", Verdict.DENY: "denies it"}
    reason = f": {rule.reason.rstrip('.')}" if rule.reason else ""
    return Judgement(rule.verdict, rule.name, f"The rule {quote(rule.name, shown=True)} {words[rule.verdict]}{reason}.")


__all__ = ["Judgement", "Keeper"]
