"""README's first commands as a container runs them: a user of its own, read-only code, home /; and under limits."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.containers import contained, needs_root
from tests.helpers.programs import ROOT, TRAIN, command

SMOKE = ["--preset", "smoke", "--iterations", "1", "--num-workers", "1"]
SERVES = f"""
{sys.executable} -m tensorboard.main --logdir results --port 16106 --load_fast=false & board=$!
for try in $(seq 60); do sleep 1; curl -s localhost:16106/data/runs | grep 00000 && break; done; kill $board
"""
PAGE = (ROOT / "README.md").read_text("utf-8").partition("<!-- numbers: begin")[2].partition("<!-- end")[0]
COMMANDS = re.findall(r"^\| `(.*?)` \| ", PAGE, re.MULTILINE)


@pytest.mark.slow
@needs_root
def test_readmes_first_commands_work_for_a_user_who_can_write_one_folder_alone(tmp_path):
    shell = ["set -e"]
    for words in COMMANDS:
        words = words.replace("python experiments", f"{sys.executable} {ROOT}/experiments")
        words = words.replace("NAME", "results/pg-*")
        words = words.replace("--smoke-test", "--smoke-test --name smoke")
        if words.endswith("train.py pg"):
            words += " " + " ".join(SMOKE)
        shell.append(SERVES if words.startswith("tensorboard") else words)
    done = subprocess.run(
        contained(["bash", "-c", "\n".join(shell)], tmp_path), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not re.findall(r"Traceback|writable|Warning|rror", done.stderr), done.stderr
    assert '"smoke/00000_' in done.stdout, "TensorBoard shows the runs"
    assert {path.suffix for path in tmp_path.glob("**/*") if path.is_file()} >= {".gif", ".html", ".safetensors"}
    assert {path.stat().st_uid for path in tmp_path.glob("**/*")} == {2000}


@pytest.mark.slow
@needs_root
def test_two_users_train_at_once_on_one_machine_each_with_files_that_are_private(tmp_path):
    words = shlex.join(command(TRAIN, "pg", *SMOKE, "--name", "run"))
    users, switch = (2000, 2001), "setpriv --clear-groups --reuid"
    shell = ["chmod 711 ."] + [f"mkdir {uid} && chown {uid} {uid}" for uid in users]
    shell += [f"(cd {uid} && {switch} {uid} --regid {uid} {words}) & run{uid}=$!" for uid in users]
    shell += [f"wait $run{uid}" for uid in users] + ["stat -c 'private: %u %a' /tmp/pong-*"]
    inside = contained(["bash", "-ec", "\n".join(shell)], tmp_path, uid=0)
    done = subprocess.run(inside, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"private: .*", done.stdout) == [f"private: {uid} 700" for uid in users]
    for uid in users:
        folder = tmp_path / str(uid)
        assert (folder / "results" / "run" / "00000" / "result.json").is_file()
        assert {path.stat().st_uid for path in folder.glob("**/*")} == {uid}


@pytest.mark.slow
def test_a_long_temporary_folder_and_a_limit_of_addresses_do_no_harm(tmp_path):
    temporary = tmp_path / (100 * "x")
    temporary.mkdir()
    words = ["bash", "-c", 'ulimit -v 6000000; exec "$@"', "bash", *command(TRAIN, "pg", *SMOKE, "--name", "long")]
    done = subprocess.run(
        words, cwd=tmp_path, env=os.environ | {"TMPDIR": str(temporary)}, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert Path(tmp_path, "results", "long", "00000", "result.json").is_file()
