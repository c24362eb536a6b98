"""Names that Ray does not promise to keep: where one is missing, a program says so before it starts anything."""

import sys

import pytest
from ray._private import ray_constants
from ray.train._internal.checkpoint_manager import _CheckpointManager
from ray.tune.experiment import Trial

from experiments import train
from experiments.run.ray_internals import require_internals

CARTPOLE = "trpo --preset cartpole --num-workers 1 --iterations 1"


def test_the_installed_ray_has_them_all():
    require_internals()


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
