"""A Ray of a program's own is reached from this machine alone; what is used of Ray is there, or is missed in time."""

import contextlib
import logging
import logging.handlers
import os
import pty
import subprocess
import sys
import time

import pytest
import ray
from ray._private import ray_constants
from ray.train._internal.checkpoint_manager import _CheckpointManager
from ray.tune.experiment import Trial

from experiments import train
from experiments.run import ray_session
from experiments.run.ray_internals import LACKS_MEMORY, in_one_line, on_loopback, without_advice
from experiments.run.ray_session import start_local
from tests.helpers.programs import ROOT, listening
from trainables.checks import ConfigError


def test_a_local_ray_listens_on_loopback_alone(ray_cluster):
    ray.get(ray.remote(lambda: None).remote())  # a worker, too
    sockets = listening(os.getpid())
    assert {"gcs_server", "raylet"} <= {name for name, _ in sockets}
    assert all(address.is_loopback for _, address in sockets), sockets


COLOURS = """
from experiments.run.ray_internals import leave_no_colours
from ray.autoscaler._private import cli_logger
leave_no_colours()
"""


@pytest.mark.slow
def test_ray_writes_no_escape_sequence_to_a_terminal_as_the_program_ends():
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", COLOURS], cwd=ROOT, stdout=theirs, check=True)
    os.close(theirs)
    with pytest.raises(OSError, match="Input/output error"):  # the terminal has gone, and nothing was written to it
        os.read(ours, 100)
    os.close(ours)


def test_a_cluster_that_is_started_later_knows_its_machines_address(monkeypatch):
    monkeypatch.delenv(ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR, raising=False)
    with on_loopback():
        assert os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] == "0"
        assert not ray_constants.ENABLE_RAY_CLUSTER
    assert ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR not in os.environ
    assert ray_constants.ENABLE_RAY_CLUSTER


@pytest.fixture
def token(tmp_path, monkeypatch):
    """Where Ray looks for its token, on a machine that has none; Ray itself does not start."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    monkeypatch.setattr(ray, "init", lambda **options: None)
    return tmp_path / ".ray" / "auth_token"


def test_a_token_file_is_closed_to_others_and_without_one_the_token_is_in_the_environment(token):
    start_local(1)
    assert len(os.environ.pop("RAY_AUTH_TOKEN")) == 64
    assert not token.parent.exists()
    token.parent.mkdir()
    token.write_text("a" * 64)  # readable for all, as Ray makes it
    start_local(1)
    assert "RAY_AUTH_TOKEN" not in os.environ
    assert token.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("name", "value"), [("RAY_AUTH_TOKEN", "a" * 64), ("RAY_AUTH_MODE", "disabled")])
def test_what_the_environment_says_of_tokens_is_left_alone(token, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    start_local(1)
    assert (os.environ[name], os.environ.get("RAY_AUTH_TOKEN", value)) == (value, value)


@pytest.mark.parametrize("failures", [1, 2])
def test_a_ray_that_does_not_start_is_started_once_more_and_then_answered_in_one_line(
    token, monkeypatch, capsys, failures
):
    started = []

    def too_slow(**options):
        started.append(options["num_cpus"])
        if len(started) <= failures:
            raise Exception("The current node timed out during startup.\nMore")

    monkeypatch.setattr(ray, "init", too_slow)
    answer = r"Ray does not start here: The current .* startup\. On .*, try again [^\n]*$"
    with contextlib.nullcontext() if failures == 1 else pytest.raises(ConfigError, match=answer):
        start_local(1)
    assert started == [1, 1]
    said = "Ray did not start: The current node timed out during startup. Once more ...\n"
    assert capsys.readouterr().err == said


def test_of_a_process_that_the_memory_monitor_ended_our_line_is_printed_and_no_advice():
    log, seen = logging.getLogger("ray.tune.execution.tune_controller"), logging.handlers.BufferingHandler(10)
    without_advice()
    log.addHandler(seen)
    for error in (f"Task was killed {LACKS_MEMORY}.\nTop 10 memory users: ...", "a bug"):
        log.error("Trial task failed", exc_info=RuntimeError(error))
    log.removeHandler(seen)
    (shown,) = seen.buffer
    assert str(shown.exc_info[1]) == "a bug"
    assert in_one_line(RuntimeError(f"Task was killed {LACKS_MEMORY}.\nRefer to ...")).endswith("process to free some")
    assert in_one_line(RuntimeError("Traceback\nZeroDivisionError: a bug\n")) == "ZeroDivisionError: a bug"


def test_sessions_of_rays_that_ended_a_day_ago_go_and_those_that_still_write_logs_stay(tmp_path):
    for name, age in (("session_2026_1", 90_000), ("session_2026_2", 600)):
        log = tmp_path / name / "logs" / "raylet.out"
        log.parent.mkdir(parents=True)
        log.touch()
        for path in (log, tmp_path / name):
            os.utime(path, times=(time.time() - age,) * 2)
    os.utime(tmp_path / "session_2026_2", times=(0, 0))  # began long ago
    ray_session._remove_old_sessions(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["session_2026_2"]


def test_a_node_that_does_not_answer_leaves_no_file_behind(tmp_path, monkeypatch):
    def no_answer(probe, *args):
        raise ConfigError("node 10.0.0.7 has not answered")

    monkeypatch.setattr(ray_session, "_on_every_node", no_answer)
    with pytest.raises(ConfigError, match="has not answered"):
        ray_session.require_shared(str(tmp_path))
    assert not [*tmp_path.iterdir()]


CARTPOLE = "trpo --preset cartpole --num-workers 1 --iterations 1"


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (sys.modules["ray.train._internal.session"], "_TrainingResult"),
        (_CheckpointManager, "register_checkpoint"),
        (Trial, "init_local_path"),
        (ray_constants, "ENABLE_RAY_CLUSTER"),
    ],
)
def test_a_name_that_is_missing_ends_the_program_with_one_sentence(owner, name, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delattr(owner, name)
    monkeypatch.setattr(sys, "argv", ["train.py", *CARTPOLE.split()])
    with pytest.raises(SystemExit) as stop:
        train.main()
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert f"no attribute '{name}'" in error
    assert error.endswith("it works with Ray 2.60\n")
    assert error.count("\n") == 1
    assert not [*tmp_path.iterdir()]
