"""What is built holds the packages and nothing else, and works where it is installed, from a folder of its user's."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile

import pytest

from tests.helpers.programs import ROOT

PACKAGES = ("experiments", "search_spaces", "trainables")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """What ``python -m build`` makes: a wheel, and the archive that the wheel is built from."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, capture_output=True)
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, archive


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """The folder of the programs of an environment with the wheel, which finds its dependencies in this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", built[0]], check=True, capture_output=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    return folder / "bin"


@pytest.mark.slow
def test_a_wheel_holds_the_packages_and_nothing_else(built):
    wheel, archive = built
    tracked = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, check=True, capture_output=True, text=True)
    packages = {*tracked.stdout.splitlines()}
    assert {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name} == packages
    with tarfile.open(archive) as tar:
        there = {name.partition("/")[2] for name in tar.getnames()}
    assert there == packages | {"pyproject.toml", "README.md", "PKG-INFO", ".gitignore"}


@pytest.mark.slow
def test_an_installed_wheel_sweeps_reports_and_plays_and_the_commands_that_it_prints_work(installed, tmp_path):
    user = tmp_path / "folder of a user"
    (user / "experiments").mkdir(parents=True)
    for name in ("experiments/__init__.py", "trainables.py", "search_spaces.py"):
        (user / name).write_text("raise ImportError('a module of the user')", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = os.pathsep.join([str(installed), environment["PATH"]])

    def typed(words):
        done = subprocess.run(["bash", "-c", words], cwd=user, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, words + done.stdout + done.stderr
        return done.stdout

    swept = typed("pong-sweep --smoke-test --name smoke")
    assert "python" not in swept
    printed = dict(re.findall(r"^(\w+): +(pong-.*)$", swept, re.MULTILINE))
    assert printed.keys() == {"Report", "Play", "Extend"}
    for words in printed.values():
        assert "python" not in typed(words)
    assert re.search(r"^smoke +finished", typed("pong-results list"), re.MULTILINE)
    assert "site-packages/trainables/trained/trpo" in typed("pong-watch trained/trpo --episodes 1")
    assert {path.suffix for path in user.rglob("*") if path.is_file()} >= {".gif", ".html", ".safetensors"}
