"""The importance of settings, drawn and said."""

from collections.abc import Mapping

import matplotlib as mpl
from matplotlib.figure import Figure

from experiments.read.statistics import MIN_CONFIGURATIONS, Estimate
from experiments.show.figures import COLOURS, GREY, INK, STYLE, new_figure
from experiments.show.text import code
from trainables.texts import printable


def importance_lines(count: int, found: Mapping[str, Estimate], steps: int) -> list[str]:
    """What can be said of the importance of settings, a paragraph each. ``count`` configurations have a return."""
    if count < MIN_CONFIGURATIONS:
        return [
            f"How important each setting is cannot be said: {count} of the {MIN_CONFIGURATIONS} trials with different"
            " settings that this needs have a return."
        ]
    unknown = [name for name, estimate in found.items() if estimate.value != estimate.value]
    if len(unknown) == len(found):
        return ["How important each setting is cannot be said: returns do not differ, or each choice came too rarely."]
    lines = [
        f"A setting's importance is the share of the variance of these returns, after {steps:,} agent steps, that it"
        f" explains by itself over the values that were drawn ({count} configurations), with its 95% interval. Where"
        " the interval begins at 0, in grey, that may be luck. Each setting is judged alone: what settings do only"
        " together is in no bar, nor is the luck of the random seed, and shares need not add up to 100%. It is a"
        " correlation over the values that were drawn, at these steps: later, other settings may matter."
    ]
    if unknown:
        lines.append(f"Not estimated, since each choice came too rarely: {', '.join(map(code, unknown))}.")
    return lines


def importance_figure(found: Mapping[str, Estimate]) -> Figure:
    """A bar a setting, the most important one above, with its interval. At least one estimate is a number."""
    known = [(printable(name)[:40], estimate) for name, estimate in found.items() if estimate.value == estimate.value]
    with mpl.rc_context(STYLE):
        figure = new_figure(0.9 + 0.36 * len(known))
        axes = figure.add_subplot()
        for y, (_, estimate) in enumerate(known):
            value, low, high = (100 * each for each in estimate)
            axes.barh(y, value, height=0.6, color=COLOURS[0] if low > 0 else GREY)
            axes.plot([low, high], [y, y], "-|", color=INK, linewidth=1.3, markersize=7, clip_on=False)
            text = f"{value:.0f}% ({low:.0f} to {high:.0f}%)"
            axes.annotate(text, (1.03, y), xycoords=axes.get_yaxis_transform(), va="center", fontsize=9.5, color=INK)
        axes.set_yticks(range(len(known)), [name for name, _ in known])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(known) - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("share of the variance of returns (%)")
    return figure
