"""The files in ``deploy/``: valid by the installed Ray's own schema, and about things that exist."""

import re
import shlex
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from jsonschema import ValidationError  # comes with Ray
from ray.autoscaler._private import commands
from ray.autoscaler._private.util import prepare_config, validate_config
from ray.autoscaler.node_provider import NodeProvider

from experiments import sweep_pong
from experiments.ask.command_line import parse
from experiments.run import sweep

ROOT = Path(__file__).parents[1]
CLUSTER, JOB, VOLUME, IMAGE = (
    ROOT / "deploy" / name for name in ("cluster.yaml", "rayjob.yaml", "volume.yaml", "Dockerfile")
)


@pytest.fixture
def parsed(monkeypatch):
    """How the sweep reads a command line that stands in a file."""

    def read(command):
        python, program, *flags = shlex.split(command)
        assert python.endswith("python")
        monkeypatch.setattr(sys, "argv", [program, *flags])
        return program, parse(sweep.Arguments, sweep_pong.DESCRIPTION)

    return read


def test_ray_up_accepts_the_cluster_file():
    validate_config(prepare_config(yaml.safe_load(CLUSTER.read_text())))  # as `ray up` does, against ray-schema.json
    with pytest.raises(ValidationError):
        validate_config(prepare_config(yaml.safe_load(CLUSTER.read_text()) | {"setup_command": []}))


def test_the_cluster_file_installs_this_project_and_ends_with_a_sweep_that_parses(parsed):
    config = yaml.safe_load(CLUSTER.read_text())
    assert config["file_mounts"]["~/pong"] == "."
    command = re.search(r"#   cd ~/pong && (.*)", CLUSTER.read_text())[1]
    program, arguments = parsed(command)
    assert (ROOT / program).is_file()
    assert arguments.run.address == "auto"
    assert arguments.run.storage_path == "/mnt/shared/results"


def test_the_job_runs_a_sweep_that_parses_on_a_volume_that_all_pods_mount(parsed):
    claim, job = (yaml.safe_load(path.read_text()) for path in (VOLUME, JOB))
    spec = job["spec"]["rayClusterSpec"]
    program, arguments = parsed(job["spec"]["entrypoint"])
    assert (ROOT / Path(program).relative_to("/home/ray/pong")).is_file()
    assert arguments.run.address == "auto"
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        pod = group["template"]["spec"]
        (container,), (volume,) = pod["containers"], pod["volumes"]
        (mount,) = container["volumeMounts"]
        assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        assert (mount["name"], mount["mountPath"]) == (volume["name"], arguments.run.storage_path)


def test_a_fresh_volume_was_roots_alone_while_the_image_runs_as_user_1000():
    spec = yaml.safe_load(JOB.read_text())["spec"]["rayClusterSpec"]
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        assert group["template"]["spec"]["securityContext"]["fsGroup"] == 100, "of user 1000 in rayproject/ray"


def test_a_second_job_from_the_same_file_failed_since_its_names_were_taken(parsed):
    (job,) = yaml.safe_load_all(JOB.read_text())  # and nothing beside it, which would be there already
    assert "name" not in job["metadata"]
    assert job["metadata"]["generateName"] == "sweep-pong-"
    assert "kubectl create -f deploy/rayjob.yaml" in JOB.read_text()
    _, arguments = parsed(job["spec"]["entrypoint"])
    assert arguments.run.name is None


def test_the_head_of_a_cluster_had_no_key_to_start_its_workers_with():
    config = prepare_config(yaml.safe_load(CLUSTER.read_text()))
    key = config["auth"]["ssh_private_key"]
    mounted, _ = commands._set_up_config_for_head_node(config, NodeProvider({}, "pong"), no_restart=False)
    assert mounted["file_mounts"]["~/ray_bootstrap_key.pem"] == key


def test_the_image_holds_the_installed_ray_and_every_package():
    lines = IMAGE.read_text().splitlines()
    copied = [word for line in lines if line.startswith("COPY") for word in line.split()[2:-1]]
    assert all((ROOT / name).exists() for name in copied)
    assert {"trainables", "search_spaces", "experiments", "pyproject.toml"} <= set(copied)
    assert any(line.startswith(f"FROM rayproject/ray:{version('ray')}-py3") for line in lines)
    job = yaml.safe_load(JOB.read_text())
    assert job["spec"]["rayClusterSpec"]["rayVersion"] == version("ray")


@pytest.mark.parametrize("path", [IMAGE, CLUSTER], ids=lambda path: path.name)
def test_what_is_installed_needs_no_extra_that_the_project_lacks(path):
    (command,) = (line for line in path.read_text().splitlines() if "pip install" in line and not line.startswith("#"))
    extras = re.findall(r"\[(\w+)\]", command)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras) <= set(project["optional-dependencies"])
