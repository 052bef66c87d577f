"""What the engine's grammar parser and sampler bear, as numbers; llama-server b10434 is the floor.

Every bound stops something that was tried on a real server (one thread, a model of two layers with SmolLM2's
vocabulary of 49 k words, and SmolLM2 itself in xllamacpp 2026.10) and refused, hung, crashed or slow there. Seconds
are to the first token, 0.04 of them without any grammar to speak of.

- Prefix trees of 1 k, 5 k, 10 k, 20 k, 50 k realistic names: 16, 76, 141, 267, 658 kB printed; 0.05, 0.06, 0.04, 0.06,
  0.10 s on b10434 and 0.09, 0.05, 0.05, 0.06, 0.09 in xllamacpp; sixteen tokens take 0.25 to 0.3 s throughout. 50 k
  names of 20 random letters, 1.2 MB: 0.09 s. 1,000 tools of 22 optional members, 1.9 MB: 0.12 s.
- One choice of 500, 1,000, 2,000, 4,000 flat names: 0.16, 0.22, 0.44, 0.76 s. 1,000, 2,000, 4,000 optional members
  before the first one given: 0.3, 0.7, 1.3 s.
- 100, 300 strings of at most 1,999 characters, each a rule of its own: 0.6, 1.1 s (0.8 and 2.4 million elements).
- 4,000 rules that begin along a chain of 1,900: 0.7 s. 40,000 rules in a chain, 5,000 groups in one: no trouble there,
  but the engine recurses, and other systems give a thread less stack.
- Forty tokens under ``([a-z]{1,40}){1,40}``: 22 s instead of 2; under ``([a-z]+){1,500}`` 4 s, ``([a-z]{1,40})*``
  3 s. ``([a-z]{0,20}){0,20}``: 28 s for eight; with 40 for 20 it hangs. ``root ::= ([^-] root)*``: 25 s for 24.
"""

from __future__ import annotations

import re
from typing import Final

#: What a rule may be called. Underscores, dots and other letters are a 400.
RULE_NAME: Final = re.compile(r"[A-Za-z0-9-]+")
#: Longest rule name that we make; the engine has no bound of its own.
MAX_RULE_NAME: Final = 200
#: Largest bound of a repeat. The engine refuses 2,000, and reads a larger maximum as none.
MAX_REPEAT: Final = 1999
#: Rules that the engine generates inside a group, times the bound of the group's repeat: refused from 2,000 on.
MAX_REPEATED_RULES: Final = 1999
#: A counted repeat right within a counted repeat: the two bounds multiplied, each a stack of the engine's.
MAX_NESTED_COUNTS: Final = 256
#: Groups within groups in one rule. The engine's parser recurses once a group.
MAX_GROUPS: Final = 64
#: Nodes within nodes in one rule, so that our own code may recurse.
MAX_NODES_DEEP: Final = 256
#: Groups within groups that a prefix tree makes before it goes on in a rule of its own.
TREE_GROUPS: Final = 24
#: Bytes of one printed grammar. What it costs is ours: 0.2 s a megabyte to print and as much to verify.
MAX_GRAMMAR_BYTES: Final = 2 * 1024 * 1024
#: Printed bytes of one list's prefix tree from which the list becomes a gate: some 20,000 names.
GATE_BYTES: Final = 256 * 1024
#: Bytes of one pattern, with its format and lengths; above, part of it is widened.
MAX_PATTERN_BYTES: Final = 32 * 1024
#: Work that the patterns of one grammar may take, in steps of their automata; a million are about a second.
MAX_PATTERN_COST: Final = 1_000_000
#: Elements of all rules once the engine has unrolled its repeats: a string of at most 1,999 characters is 10,000.
MAX_ELEMENTS: Final = 4_000_000
#: Ways in which a rule, or a choice, can begin: each is a stack of the engine's, and it compares them in pairs.
MAX_STARTS: Final = 4096
#: Rules that begin with a rule that begins with a rule …; the engine's check for left recursion recurses.
MAX_STARTS_DEEP: Final = 2000
#: Paths along which rules begin, in all; the engine's check for left recursion follows each one anew.
MAX_START_VISITS: Final = 8_000_000
