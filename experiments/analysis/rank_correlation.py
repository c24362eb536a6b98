"""How much an order of trials says of their order later, by the agent steps after which they were compared.

The figures are rank correlations (Spearman) of scores in Pong, of the trials that docs/schedulers.md tells about. Of
other environments nothing is known, and nothing is said.
"""

from collections.abc import Sequence

from experiments.analysis.configurations import with_results
from experiments.disk.experiments import Experiment
from experiments.disk.trial import Trial
from trainables.sampling.console import is_pong

LUCK_BEFORE = 200_000
"""Agent steps before which the rank correlation with the order after a million steps is 0.16 or less."""

WITH_THE_END = (
    (300_000, 0.27, 0.41),
    (400_000, 0.30, 0.48),
    (500_000, 0.33, 0.67),
    (750_000, 0.52, 0.88),
    (1_000_000, 0.53, 0.72),
)
"""Agent steps, and the least and the greatest rank correlation with the order at the end, of three sets of trials: 24
of 2 million agent steps, and twice 9 of more than 4 million."""


def is_luck(steps: int, env_id: str) -> bool:
    """Whether an order after so many agent steps says next to nothing of a later one."""
    return steps < LUCK_BEFORE and is_pong(env_id)


def order_says(steps: int, env_id: str) -> str:
    """How much an order after ``steps`` agent steps says of a later one, in a sentence.

    Empty where that is not known: in other environments than Pong, and after a million steps.
    """
    if not is_pong(env_id) or steps > WITH_THE_END[-1][0]:
        return ""
    order = f"an order after {steps:,} agent steps"
    if steps < LUCK_BEFORE:
        return (
            f"In Pong {order} is luck: its rank correlation with the order after a million is 0.16 or less"
            " (docs/schedulers.md)."
        )
    found = "order after a million is about 0.4"
    for at, least, greatest in WITH_THE_END:
        if at <= steps:
            found = f"order at the end is {least:.2f} to {greatest:.2f}"
    return f"In Pong the rank correlation of {order} with the {found} (docs/schedulers.md)."


def shown_order_says(experiments: Sequence[Experiment]) -> str:
    """``order_says`` of the order of configurations that is shown of these experiments; empty if none is.

    One that was halved shows the order where several were last compared. Of another one it is the order by latest
    results, and of several experiments that of the best of each: what counts is the run with the fewest agent steps.
    """
    trials: list[Trial] = []
    for experiment in experiments:
        standings = experiment.standings
        if len(experiments) > 1:
            standings = standings[:1]
        for standing in standings:
            trials += standing.judged_by
    played = {str(trial.config.get("env_id")) for trial in trials}
    if len(with_results(experiments)) < 2 or len(played) != 1:
        return ""
    (env_id,) = played
    return order_says(_steps_of_order(experiments, trials), env_id)


def _steps_of_order(experiments: Sequence[Experiment], trials: Sequence[Trial]) -> int:
    """The agent steps after which the ``trials`` of these experiments were compared."""
    if len(experiments) == 1:
        experiment = experiments[0]
        if experiment.last_compared and experiment.decisions:
            return _steps_where_compared(experiment)
    steps = [trial.steps for trial in trials if not trial.fell]
    if not steps:
        steps = [trial.steps for trial in trials]
    return min(steps)


def _steps_where_compared(experiment: Experiment) -> int:
    """The fewest agent steps that trials of a halved experiment had where several were last compared."""
    at, time_attr = experiment.last_compared[0].at or 0, experiment.spec.budget.time_attr
    if time_attr == "timesteps_total":
        return at
    steps = []
    for standing in experiment.last_compared:
        for trial in standing.trials:
            steps += [row["timesteps_total"] for row in trial.rows if row[time_attr] == at]
    return min(steps, default=0)
