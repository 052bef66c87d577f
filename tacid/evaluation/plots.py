"""Lines as SVG, to stand in a page."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tacid.errors import InputError


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its name in the legend, and its points."""

    name: str
    points: Sequence[tuple[float, float]]


def plot(title: str, x: str, y: str, lines: Sequence[Line]) -> str:
    """An ``<svg>`` element, the same for the same figures. Raises ``InputError`` where matplotlib isn't installed."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            "The page's plots are drawn by matplotlib, which is not installed; install it: pip install 'tacid[eval]'"
        ) from None
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for line in lines:
        axes.plot([point[0] for point in line.points], [point[1] for point in line.points], marker="o", label=line.name)
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.set_ylim(bottom=0)
    axes.set_xticks(sorted({point[0] for line in lines for point in line.points}))
    axes.grid(axis="y", alpha=0.3)
    axes.legend(frameon=False)
    written = io.StringIO()
    # Ids are made of the salt: two plots of one page must not share them.
    with matplotlib.rc_context({"svg.hashsalt": title, "svg.fonttype": "none", "text.parse_math": False}):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    text = written.getvalue()
    return _own_ids(text[text.index("<svg") :], re.sub(r"\W+", "-", title.lower()))


def _own_ids(svg: str, prefix: str) -> str:
    """The same picture with ids that begin with ``prefix``."""
    for pattern in (r'(\bid=")', r"(url\(#)", r'(href="#)'):
        svg = re.sub(pattern, rf"\g<1>{prefix}-", svg)
    return svg


__all__ = ["Line", "plot"]
