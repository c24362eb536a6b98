"""Experiments written by the tests in the format of real ones, so that every figure of a report can be foretold."""

import json

import numpy as np

from experiments.disk.spec import ExperimentSpec, ForkOf, create
from experiments.plan.learners import LEARNERS
from trainables.checkpoints import State, load, save
from trainables.metrics import EpisodeStats


def write_experiment(storage, name, learner, trials, planned=None, **record):
    """An experiment folder: ``trials`` are (settings, returns, ending), ending None, an error or "cut".

    A ``None`` ending is a trial that ended well; "cut" one that was killed while it wrote a row; "running" one that
    goes on. Row i has two games, 1,000 i steps and 2 i seconds, times ``num_workers`` steps a second.
    """
    configs = [LEARNERS[learner].config_class.from_dict(settings).to_dict() for settings, *_ in trials]
    command = ["train.py", learner, "--name", name] if len(trials) == 1 else ["sweep_pong.py", "--name", name]
    configs_planned = configs + [configs[0]] * ((planned or len(trials)) - len(trials))
    entries = {"learner": learner, "command": command, "iterations": 10, "swept": [], "configs": configs_planned}
    entries |= {"checkpoint_frequency": 1, "interval": 1}
    folder = create(storage, name, ExperimentSpec.model_validate(entries | record))
    for index, (config, (_, returns, ending)) in enumerate(zip(configs, trials, strict=True)):
        trial = folder / f"{index:05d}_seed={config['seed']}"
        trial.mkdir()
        (trial / "params.json").write_text(json.dumps(config), encoding="utf-8")
        played = [row(i, value, config) for i, value in enumerate(returns, 1)]
        if ending is None:
            played[-1]["done"] = True
        write_rows(trial, played)
        if ending == "cut":
            with (trial / "result.json").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row(len(played) + 1, 21, config))[:150])
        elif ending not in (None, "running"):
            (trial / "error.txt").write_text(
                f"Traceback (most recent call last):\n  File\n{ending}\n", encoding="utf-8"
            )
    return folder


def rows(trial):
    """What ``result.json`` in a trial's folder holds."""
    return [json.loads(line) for line in (trial / "result.json").read_text(encoding="utf-8").splitlines()]


def write_rows(trial, played):
    lines = [json.dumps(row) + "\n" for row in played]
    (trial / "result.json").write_text("".join(lines), encoding="utf-8")


def change_rows(trial, **entries):
    """Give all rows of a trial other entries."""
    write_rows(trial, [row | entries for row in rows(trial)])


def forked_from(name, *starts):
    """A fork of an experiment's trials; ``starts`` are (settings, iteration) of each."""
    of_config = LEARNERS["pg"].config_class.from_dict
    left = [{"config": of_config(c).to_dict(), "iteration": i, "steps": 1000 * i} for c, i in starts]
    return ForkOf.model_validate({"name": name, "starts": left})


def row(iteration, value, config):
    """What Tune writes of an iteration, as far as anybody reads it."""
    return {
        "episode_score": value,
        "episode_reward_batch_mean": value,
        "episodes_this_iter": 2,
        "timesteps_this_iter": 1000,
        "timesteps_total": 1000 * iteration,
        "time_total_s": 2.0 * iteration,
        "time_this_iter_s": 2.0,
        "perf/workers": float(config["num_workers"]),
        "perf/steps_per_s": 1000.0 * config["num_workers"] ** 0.5,
        "training_iteration": iteration,
        "done": False,
    }


def longer(folder, times):
    """Let each iteration of an experiment have ``times`` as many agent steps."""
    for path in folder.glob("0*/result.json"):
        rows = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
        for each in rows:
            each["timesteps_total"] *= times
            each["timesteps_this_iter"] *= times
        path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")


def write_checkpoint(trial, learner, iteration, mean_return, evaluated):
    """A checkpoint whose state readers look at; its last evaluation was after the iteration ``evaluated``."""
    folder = trial / f"checkpoint_{iteration:06d}"
    folder.mkdir()
    episodes = EpisodeStats(games=1, steps=1000, recent_returns=[mean_return], recent_ends=[1000])
    state = State(
        learner=learner,
        config={},
        iteration=iteration,
        episodes=episodes,
        evaluation={"eval/iteration": evaluated},
        versions={},
    )
    save(folder, {"theta": np.zeros(1)}, state)
    return folder


def write_policies(trial, learner, returns):
    """Checkpoints that play with the trial's settings: one for each iteration, with its mean return in training."""
    config = LEARNERS[learner].config_class.from_dict(json.loads((trial / "params.json").read_text()))
    state = LEARNERS[learner].trainable.untrained(config)
    for iteration, mean_return in returns.items():
        state.iterations, state.episodes.steps = iteration, 1000 * iteration
        state.episodes.recent_returns = [float(mean_return)]
        state.arrays = state.arrays | {"theta": state.arrays["theta"] + np.float32(0.01)}
        folder = trial / f"checkpoint_{iteration:06d}"
        folder.mkdir()
        state.save_checkpoint(str(folder))


def forget(folder, *names, files=("experiment.json", "params.json", "state.json")):
    """Take settings out of an experiment's files, as these were written before the learner had them."""

    def without(config):
        return {name: value for name, value in config.items() if name not in names}

    if "experiment.json" in files:
        spec = json.loads((folder / "experiment.json").read_text(encoding="utf-8"))
        spec["configs"] = [without(config) for config in spec["configs"]]
        for start in (spec["fork_of"] or {"starts": []})["starts"]:
            start["config"] = without(start["config"])
        (folder / "experiment.json").write_text(json.dumps(spec), encoding="utf-8")
    for path in folder.glob("0*/params.json") if "params.json" in files else ():
        path.write_text(json.dumps(without(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")
    for path in folder.glob("0*/checkpoint_*") if "state.json" in files else ():
        arrays, state = load(path, ExperimentSpec.read(folder).learner)
        save(path, arrays, state.model_copy(update={"config": without(state.config)}))


def table(markdown, first):
    """The rows of a table in a report's Markdown, whose first column is called ``first``, as dicts."""
    lines = markdown.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    header = cells(lines[start])
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append(dict(zip(header, cells(line), strict=True)))
    return found


def cells(line):
    return [cell.strip().strip("`").replace("\N{MINUS SIGN}", "-").replace(",", "") for cell in line.split("|")[1:-1]]
