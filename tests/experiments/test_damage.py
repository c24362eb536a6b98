"""Experiments with something wrong in their folder: one line each, and no harm."""

import json
import os
import sys

import pytest
import ray

from experiments import sweep_trpo, train, watch
from experiments.plan.learners import TRPO
from experiments.read import policies
from experiments.record.folders import RECORD
from experiments.run import sweep
from experiments.show.film_file import require_writable
from tests.helpers.foreign_experiments import DEEP, make_sound
from tests.helpers.trials import CARTPOLE, edited_state
from tests.helpers.unprivileged import common_folder, unprivileged
from tests.helpers.written_experiments import write_experiment
from trainables.checkpoints import CheckpointError
from trainables.checks import ConfigError
from trainables.config import PGConfig, TRPOConfig
from trainables.sampling.environments import BoxEnvironment, flat_environment

ONE = [({}, [-20.0, -19.0], "running")]


@pytest.fixture
def call(monkeypatch, capsys):
    """Run a program that is to refuse; return its line."""

    def refuse(main, *argv):
        monkeypatch.setattr(sys, "argv", [*map(str, argv)])
        with pytest.raises(SystemExit) as stop:
            main()
        complaint = capsys.readouterr().err
        assert (stop.value.code, complaint.count("\n")) == (2, 1), complaint
        return complaint

    return refuse


def resume(name):
    return lambda: sweep.main(TRPO, sweep_trpo.DESCRIPTION)


def test_one_damaged_experiment_hid_the_whole_list(tmp_path, run_results, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {"cut": '{"learner": "p', "deep": DEEP, "list": "[]", "types": None, "stranger": None}
    write_experiment(tmp_path, "good", "pg", ONE)
    for name, text in texts.items():
        record = write_experiment(tmp_path, name, "pg", ONE) / RECORD
        change = {"types": {"iterations": "x"}, "stranger": {"learner": "nobody"}}.get(name, {})
        record.write_text(text or json.dumps(json.loads(record.read_text()) | change))
    (write_experiment(tmp_path, "twice", "pg", ONE) / "00000_copy").mkdir()
    status, output, complaint = run_results("list", "--storage-path", tmp_path)
    assert (status, complaint) == (0, "")
    states = {line.split()[0]: line.split()[1] for line in output.splitlines() if line and ":" not in line}
    assert states.pop("good") == "interrupted"
    assert {name for name, state in states.items() if state == "damaged"} == {*texts, "twice"}
    assert "Damaged twice:  '00000_copy' and '00000_seed=0' in " in output
    assert "Resume good:" in output


def test_an_unreadable_neighbour_folder_was_a_traceback(run_results):
    with common_folder() as folder:
        write_experiment(folder, "mine", "pg", ONE)
        for name, mode in (("closed", 0o000), ("unlisted", 0o111)):
            write_experiment(folder, name, "pg", ONE).chmod(mode)
        with unprivileged():
            status, output, _ = run_results("list", "--storage-path", folder)
            assert run_results("best", "min", "--storage-path", folder)[0] == 2
            assert run_results("export", "min", "--storage-path", folder)[0] == 2
    assert status == 0
    assert "mine" in output
    assert "Damaged unlisted:" in output


def test_a_read_only_experiment_was_a_traceback(call, capsys):
    with common_folder() as folder:
        make_sound(folder)
        (folder / "trpo").chmod(0o555)
        with unprivileged():
            line = call(resume("trpo"), "sweep_trpo.py", "--resume", folder / "trpo")
    assert "trpo cannot be written" in line


def test_a_film_into_a_read_only_folder_was_a_traceback_after_the_games(call, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_sound(tmp_path / "results")
    (tmp_path / "film.gif").mkdir()
    assert "film.gif cannot be written" in call(watch.main, "watch.py", "pg", "--out", "film.gif")
    with common_folder() as folder:
        (folder / "closed").mkdir(mode=0o555)
        with unprivileged(), pytest.raises(ConfigError, match="cannot be written"):
            require_writable(folder / "closed" / "film.gif")
    assert "game" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["evil_module:Evil-v0", "evil_module:CartPole-v1", "evil_module:ALE/Pong-v5", "evil_module:"]
)
def test_a_checkpoint_had_any_module_imported(name, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(ray, "init", lambda *args, **options: pytest.fail("it began"))
    (tmp_path / "evil_module.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')")
    for make in (lambda: PGConfig(env_id=name), lambda: flat_environment(name), lambda: BoxEnvironment(name)):
        with pytest.raises(ValueError, match="unknown to Gymnasium"):
            make()
    make_sound(tmp_path / "results")
    for state in tmp_path.glob("results/trpo/*/*/state.json"):
        with edited_state(state.parent) as content:
            content["config"] |= {"env_id": name}
    assert "unknown to Gymnasium" in call(watch.main, "watch.py", "trpo")
    record = tmp_path / "results" / "trpo" / RECORD
    record.write_text(record.read_text().replace("CartPole-v1", name))
    for params in tmp_path.glob("results/trpo/*/params.json"):
        params.write_text(params.read_text().replace("CartPole-v1", name))
    for flags in (["--resume", "trpo"], ["--fork", "trpo", "--iterations", "9"]):
        assert "Gymnasium" in call(resume("trpo"), "sweep_trpo.py", *flags)
    assert not (tmp_path / "sprung").exists()
    words = ["train.py", "trpo", "--preset", "cartpole", "--env-id", name]
    assert "unknown to Gymnasium" in call(train.main, *words)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("learner", ["pg", "trpo"])
def test_a_network_as_large_as_a_text_says_was_built_before_anything_was_checked(learner, tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_sound(tmp_path / "results")
    size = {"hidden_size": 10**9} if learner == "pg" else {"hidden_sizes": "1000000-1000000-1000000"}
    for state in tmp_path.glob(f"results/{learner}/*/*/state.json"):
        with edited_state(state.parent) as content:
            content["config"] |= size
    (best,) = policies.find(tmp_path / "results", learner)[-1:]
    with pytest.raises(CheckpointError, match="its configuration needs"):
        policies.policy_runner(best)
    assert "its configuration needs" in call(watch.main, "watch.py", learner)


def test_a_checkpoint_of_another_size_than_its_trial_starts_no_fork(tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_sound(tmp_path / "results")
    for path in [tmp_path / "results" / "trpo" / RECORD, *tmp_path.glob("results/trpo/*/params.json")]:
        path.write_text(path.read_text().replace('"hidden_sizes": "8"', '"hidden_sizes": "1000000-1000000"'))
    line = call(resume("trpo"), "sweep_trpo.py", "--fork", "trpo", "--iterations", "9")
    assert "no trial of it has a checkpoint yet" in line


def test_an_environment_that_cannot_be_made_is_named_in_one_line():
    with pytest.raises(ValueError, match=r"env_id 'GymV21Environment-v0' cannot be made"):
        BoxEnvironment("GymV21Environment-v0")
    assert TRPOConfig.from_dict(CARTPOLE).env_id == "CartPole-v1"


def test_what_lies_beside_a_checkpoints_own_files_is_not_copied(tmp_path):
    from experiments.read.policies import copy

    make_sound(tmp_path)
    folder = next(tmp_path.glob("trpo/*/checkpoint_000001"))
    (folder / "everything").symlink_to("/")
    (folder / "x.pkl").write_bytes(b"pickle")
    copy(folder, tmp_path / "new")
    assert sorted(os.listdir(tmp_path / "new")) == ["arrays.safetensors", "state.json"]
