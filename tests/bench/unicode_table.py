"""Write ``tacid/patterns/properties.txt`` anew: general categories, scripts and a few binary properties of Unicode.

    python -m tests.bench.unicode_table

Needs ``pip install regex fonttools``: the first knows the newest Unicode's properties, the second the scripts' names.
One line a property: its names, then the ranges as the gap before each and its length less one, in base 36.
"""

from __future__ import annotations

from pathlib import Path

import tacid.patterns

CATEGORIES = {
    "Lu": "Uppercase_Letter", "Ll": "Lowercase_Letter", "Lt": "Titlecase_Letter", "Lm": "Modifier_Letter",
    "Lo": "Other_Letter", "Mn": "Nonspacing_Mark", "Mc": "Spacing_Mark", "Me": "Enclosing_Mark",
    "Nd": "Decimal_Number digit", "Nl": "Letter_Number", "No": "Other_Number", "Pc": "Connector_Punctuation",
    "Pd": "Dash_Punctuation", "Ps": "Open_Punctuation", "Pe": "Close_Punctuation", "Pi": "Initial_Punctuation",
    "Pf": "Final_Punctuation", "Po": "Other_Punctuation", "Sm": "Math_Symbol", "Sc": "Currency_Symbol",
    "Sk": "Modifier_Symbol", "So": "Other_Symbol", "Zs": "Space_Separator", "Zl": "Line_Separator",
    "Zp": "Paragraph_Separator", "Cc": "Control cntrl", "Cf": "Format", "Co": "Private_Use",
}  # fmt: skip
BINARY = {
    "Alphabetic": "Alpha", "Lowercase": "Lower", "Uppercase": "Upper", "White_Space": "space", "ID_Start": "IDS",
    "ID_Continue": "IDC", "XID_Start": "XIDS", "XID_Continue": "XIDC", "Emoji": "", "Emoji_Presentation": "EPres",
    "Extended_Pictographic": "ExtPict", "Ideographic": "Ideo", "Math": "",
}  # fmt: skip


def main() -> None:
    import regex
    from fontTools.unicodedata import script_name
    from fontTools.unicodedata.Scripts import NAMES

    text = "".join(chr(point) for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF)

    def line(kind: str, names: str, wanted: str) -> str:
        spans = [(ord(m[0][0]), ord(m[0][-1])) for m in regex.finditer(rf"[{wanted}]+", text)]
        spans = [part for low, high in spans for part in _apart(low, high)]
        last = 0
        parts = []
        for low, high in spans:
            parts.append(_base36(low - last) + ("" if high == low else "+" + _base36(high - low)))
            last = high + 1
        return f"{kind} {names} = {' '.join(parts)}\n"

    lines = [line("gc", f"{short} {long}", rf"\p{{gc={short}}}") for short, long in CATEGORIES.items()]
    lines += [line("is", f"{name} {short}".strip(), rf"\p{{{name}}}") for name, short in BINARY.items()]
    for code in sorted(NAMES):
        if code not in ("Zzzz", "Hrkt"):
            name = script_name(code).replace(" ", "_").replace("-", "_")
            lines.append(line("sc", f"{code} {NAMES[code]} {name}", rf"\p{{Script={NAMES[code]}}}"))
    Path(tacid.patterns.__file__).with_name("properties.txt").write_text("".join(lines), encoding="ascii")


def _apart(low: int, high: int) -> list[tuple[int, int]]:
    """A run in the text without surrogates as ranges that don't span them."""
    return [(low, 0xD7FF), (0xE000, high)] if low < 0xD800 <= high else [(low, high)]


def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


if __name__ == "__main__":
    main()
