"""Who copied whom under population based training."""

from collections.abc import Sequence

from experiments.ask.words import short
from experiments.read.experiments import Experiment
from experiments.record.decisions import Exchange
from experiments.show.table import Rows, to_markdown
from experiments.show.text import code, number


def lineage(experiment: Experiment) -> str:
    """A section of a report in Markdown; empty where nobody was compared."""
    exchanges = experiment.exchanges
    rows = exchange_table(exchanges)
    if not exchanges:
        return ""
    unit = "agent steps" if experiment.spec.timesteps else "iterations"
    text = f"Trials were compared {len(exchanges)} times, the last time after {exchanges[-1].at:,} {unit}. "
    if rows:
        text += (
            "A row is a trial that went on with the weights of another one, both with their returns at that moment, and"
            " with the settings that changed. A trial's results until then are since those of its weights. *After*"
            f" counts {unit} of the trial that was least far."
        )
    else:
        text += "No trial had another one of its architecture that was better."
    return f"## Who copied whom in {code(experiment.name)}\n\n{text}\n\n{to_markdown(rows)}\n"


def exchange_table(exchanges: Sequence[Exchange]) -> Rows:
    """A row for each copy: who, of whom, and each setting that was changed, from what to what."""
    return [
        {
            "after": f"{exchange.at:,}",
            "trial": f"{copy.trial:05d}",
            "return": _score(exchange, copy.trial),
            "copied": f"{copy.donor:05d}",
            "its return": _score(exchange, copy.donor),
            **{name: f"{short(copy.before.get(name))} to {short(value)}" for name, value in copy.settings.items()},
        }
        for exchange in exchanges
        for copy in exchange.copies
    ]


def _score(exchange: Exchange, trial: int) -> str:
    return "" if (score := exchange.scores[trial]) is None else number(score)
