"""The files in ``deploy/``: valid by the installed Ray's own schema, and about things that exist."""

import os
import re
import shlex
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from jsonschema import ValidationError  # comes with Ray
from ray.autoscaler._private import commands
from ray.autoscaler._private.util import prepare_config, validate_config
from ray.autoscaler.node_provider import NodeProvider

from experiments.ask.command_line import parse
from experiments.run import sweep_program

ROOT = Path(__file__).parents[1]
CLUSTER, JOB, VOLUME, IMAGE, SLURM = (
    ROOT / "deploy" / name for name in ("cluster.yaml", "rayjob.yaml", "volume.yaml", "Dockerfile", "slurm.sh")
)


def run_flags(command, home):
    """The flags of a run, as the sweep reads a command line that stands in a file; its program is there."""
    python, program, *flags = shlex.split(command)
    assert python.endswith("python")
    assert (ROOT / program.removeprefix(home)).is_file()
    return parse(sweep_program.FLAGS, args=flags)[1]


def test_ray_up_accepts_the_cluster_file():
    validate_config(prepare_config(yaml.safe_load(CLUSTER.read_text())))  # as `ray up` does, against ray-schema.json
    with pytest.raises(ValidationError):
        validate_config(prepare_config(yaml.safe_load(CLUSTER.read_text()) | {"setup_command": []}))


def test_the_head_of_a_cluster_has_the_key_that_starts_its_workers():
    config = prepare_config(yaml.safe_load(CLUSTER.read_text()))
    mounted, _ = commands._set_up_config_for_head_node(config, NodeProvider({}, "pong"), no_restart=False)
    assert mounted["file_mounts"]["~/ray_bootstrap_key.pem"] == config["auth"]["ssh_private_key"]


def test_the_cluster_file_installs_this_project_and_ends_with_a_sweep_that_parses():
    assert yaml.safe_load(CLUSTER.read_text())["file_mounts"]["~/pong"] == "."
    run = run_flags(re.search(r"#   cd ~/pong && (.*)", CLUSTER.read_text())[1], "")
    assert (run.address, run.storage_path) == ("auto", "/mnt/shared/results")


def test_the_job_runs_a_sweep_that_parses_on_a_volume_that_all_pods_mount_and_may_write():
    claim, job = (yaml.safe_load(path.read_text()) for path in (VOLUME, JOB))
    run = run_flags(job["spec"]["entrypoint"], "/home/ray/pong/")
    assert (run.address, run.name) == ("auto", None), "each job has a name of its own"
    assert "name" not in job["metadata"]
    assert job["metadata"]["generateName"] == "sweep-pong-"
    assert "kubectl create -f deploy/rayjob.yaml" in JOB.read_text()
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    spec = job["spec"]["rayClusterSpec"]
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        pod = group["template"]["spec"]
        (container,), (volume, temporary) = pod["containers"], pod["volumes"]
        assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounts == {volume["name"]: run.storage_path, temporary["name"]: "/tmp"}
        assert container["securityContext"]["readOnlyRootFilesystem"]
        user = pod["securityContext"]
        assert user["runAsNonRoot"]
        assert (user["runAsUser"], user["fsGroup"]) == (1000, 100), "the user in rayproject/ray"


def test_the_image_holds_the_installed_ray_and_every_package():
    lines = IMAGE.read_text().splitlines()
    copied = [word for line in lines if line.startswith("COPY") for word in line.split()[2:-1]]
    assert all((ROOT / name).exists() for name in copied)
    assert {"trainables", "search_spaces", "experiments", "pyproject.toml"} <= set(copied)
    assert any(line.startswith(f"FROM rayproject/ray:{version('ray')}-py3") for line in lines)
    assert yaml.safe_load(JOB.read_text())["spec"]["rayClusterSpec"]["rayVersion"] == version("ray")


def test_what_is_installed_needs_no_extra_that_the_project_lacks():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for path in (IMAGE, CLUSTER):
        (command,) = re.findall(r"^[^#\n]*pip install.*", path.read_text(), re.MULTILINE)
        assert {*re.findall(r"\[(\w+)\]", command)} <= {*project["optional-dependencies"]}


@pytest.mark.parametrize(
    ("surroundings", "requeued"),
    [
        ({"SLURM_JOB_ID": "7"}, "7"),
        ({"SLURM_JOB_ID": "9", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3"}, "7_3"),
    ],
)
def test_a_slurm_job_that_was_stopped_requeues_itself_and_of_an_array_its_own_task_alone(
    tmp_path, surroundings, requeued
):
    for name, text in {"program": 'echo "$@" > typed; exit 138', "scontrol": 'echo "$@" > asked'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    surroundings = surroundings | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": str(tmp_path / "program")}
    stopped = subprocess.run(
        ["bash", str(SLURM), "train.py", "pg", "--name", "run %a"], env=surroundings, cwd=tmp_path, check=False
    )
    assert stopped.returncode == 138
    assert (tmp_path / "asked").read_text() == f"requeue {requeued}\n"
    named = f"run {surroundings.get('SLURM_ARRAY_TASK_ID', '%a')}"
    typed = (tmp_path / "typed").read_text()
    assert typed == f"experiments/train.py pg --name {named} --resume-or-start\n", (
        "each task has an experiment of its own"
    )
