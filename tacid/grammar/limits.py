"""What the engine's grammar parser and sampler bear, as numbers; build b10434 is the floor.

Every bound here stops something that was tried on a real llama-server and refused, hung or crashed it.
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
#: Bytes of one printed grammar.
MAX_GRAMMAR_BYTES: Final = 2 * 1024 * 1024
#: Printed bytes of one list's prefix tree from which the list becomes a gate.
GATE_BYTES: Final = 64 * 1024
#: Elements of all rules once the engine has unrolled its repeats.
MAX_ELEMENTS: Final = 4_000_000
#: Ways in which a rule, or a choice, can begin: each is a stack of the engine's, and it compares them in pairs.
MAX_STARTS: Final = 4096
#: Rules that begin with a rule that begins with a rule …; the engine's check for left recursion recurses.
MAX_STARTS_DEEP: Final = 2000
#: Paths along which rules begin, in all; the engine's check for left recursion follows each one anew.
MAX_START_VISITS: Final = 8_000_000
