"""Wherever people run a program it works, or ends before anything starts with one line that says why and what helps."""

import os
import subprocess
import sys

import pytest

from tests.helpers.containers import answer, needs_root
from tests.helpers.programs import ROOT, TRAIN, command
from trainables.checks import ConfigError
from trainables.surroundings import require_room_for_ray

LIST = command(ROOT / "experiments" / "results.py", "list", "--storage-path", "/")
SMOKE = command(TRAIN, "pg", "--preset", "smoke", "--iterations", "1", "--num-workers", "1")
STARTS = """
from experiments.ask.command_line import clean_exit
from trainables.surroundings import require_room_for_ray
with clean_exit():
    require_room_for_ray()
"""
OTHERS = """
import threading, time
for _ in range(60):
    threading.Thread(target=time.sleep, args=(300,), daemon=True).start()
time.sleep(300)
"""
PRIVATE = """
import os, sys
from pathlib import Path
folder = Path("/tmp", f"pong-{os.getuid()}")
exec(sys.argv[1])
from trainables.surroundings import private_folder
print(found := private_folder(), oct(found.stat().st_mode)[-3:], found == folder, os.environ["XDG_CACHE_HOME"])
"""


@pytest.mark.parametrize(
    ("shell", "words", "complaint"),
    [
        (
            "mkdir gone; cd gone; rmdir ../gone; exec",
            LIST,
            "the current folder was deleted: go to one that is there (cd)",
        ),
        (
            "ulimit -v 3000000; exec",
            [sys.executable, "-c", STARTS],
            "a process may map less than 4 GB here (ulimit -v), which Ray's need: raise the limit",
        ),
        pytest.param(
            "mount -t tmpfs -o ro none /dev/shm; exec",
            [sys.executable, "-c", STARTS],
            "/dev/shm cannot be written, which Ray's processes share: mount it as tmpfs with mode 1777",
            marks=needs_root,
        ),
        pytest.param(
            "exec unshare --net ",
            [sys.executable, "-c", STARTS],
            "nothing can be reached at 127.0.0.1 ([Errno 101] Network is unreachable), where Ray's processes meet",
            marks=needs_root,
        ),
    ],
)
def test_surroundings_in_which_nothing_can_run_are_named_in_one_line(shell, words, complaint, tmp_path):
    ask = ["unshare", "--mount", "--propagation", "private"] if "mount" in shell else []
    ask += ["bash", "-c", f'{shell} "$@"', "bash", *words]
    given = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(ask, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False, env=given)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert complaint in done.stderr
    assert not [*tmp_path.iterdir()]


@needs_root
def test_a_user_who_may_have_too_few_threads_for_ray_is_told_so_in_one_line(tmp_path):
    words = ["bash", "-c", 'ulimit -u 150; exec "$@"', "bash", sys.executable, "-c", STARTS]
    status, _, complaint = answer(words, tmp_path, PYTHONPATH=str(ROOT))
    assert (status, complaint.count("\n")) == (2, 1), complaint
    assert "150 processes and threads may run here (ulimit -u), and Ray needs 400: raise the limit" in complaint


@needs_root
@pytest.mark.slow
def test_threads_of_a_users_other_programs_count(tmp_path):
    program = [sys.executable, "-c", "'" + OTHERS + "'"]
    others = f"{' '.join(program)} & until [ $(ls /proc/$!/task | wc -l) -gt 60 ]; do sleep 0.1; done;"
    shell = f'ulimit -u 450; {others} "$@"; status=$?; kill $!; exit $status'
    words = ["bash", "-c", shell, "bash", sys.executable, "-c", STARTS]
    status, _, complaint = answer(words, tmp_path, PYTHONPATH=str(ROOT))
    assert (status, complaint.count("\n")) == (2, 1), complaint
    assert "450 processes and threads may run here (ulimit -u), of which others have 6" in complaint


@pytest.mark.parametrize("files", [{"0::/\n": "sys/fs/cgroup"}, {"3:pids:/docker/1\n": "sys/fs/cgroup/pids/docker/1"}])
def test_a_containers_limit_of_threads_is_named_in_one_line(files, tmp_path):
    ((line, folder),) = files.items()
    for name, text in (("proc/self/cgroup", line), (f"{folder}/pids.max", "420\n"), (f"{folder}/pids.current", "90\n")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(
        ConfigError, match=r"^420 processes and threads may run here \(pids\.max .*others have \d+, and"
    ):
        require_room_for_ray(tmp_path)
    (tmp_path / folder / "pids.max").write_text("max\n")
    require_room_for_ray(tmp_path)


@needs_root
@pytest.mark.slow
def test_a_container_without_any_temporary_folder_is_named_in_one_line(tmp_path):
    status, _, complaint = answer(SMOKE, tmp_path, temporary="ro", TMPDIR=str(tmp_path / (60 * "x")))
    assert (status, [*tmp_path.iterdir()]) == (2, [])
    assert "Ray's sockets need a temporary folder" in complaint.splitlines()[-1]


@needs_root
@pytest.mark.slow
def test_a_folder_into_which_a_user_may_not_look_is_named_in_one_line(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    status, _, complaint = answer([*SMOKE, "--storage-path", "closed/results"], tmp_path)
    reason = f"cannot be written: {closed} is no folder that you may write to"
    assert (status, complaint) == (2, f"train.py: error: --storage-path closed/results {reason}\n")


@needs_root
@pytest.mark.parametrize(
    ("before", "ours"),
    [
        ("", True),
        ("folder.mkdir(0o700)", True),
        ("folder.mkdir(0o777); folder.chmod(0o777)", False),
        ("Path('/tmp/else').mkdir(); folder.symlink_to('/tmp/else')", False),
    ],
)
def test_temporary_files_and_caches_lie_in_a_folder_that_no_other_user_can_write(before, ours, tmp_path):
    status, output, complaint = answer([sys.executable, "-c", PRIVATE, before], tmp_path, PYTHONPATH=str(ROOT))
    assert status == 0, complaint
    folder, mode, same, cache = output.split()
    assert (mode, same == "True", cache) == ("700", ours, f"{folder}/cache")


@needs_root
@pytest.mark.parametrize(("temporary", "kept"), [("rw", "True"), ("ro", "False")])
def test_compiled_loops_are_kept_in_a_temporary_folder_or_nowhere(temporary, kept, tmp_path):
    words = [sys.executable, "-c", "from trainables.learning.kernels import KEPT; print(KEPT)"]
    status, output, complaint = answer(words, tmp_path, temporary=temporary, PYTHONPATH=str(ROOT))
    assert (status, output.strip()) == (0, kept), complaint
    assert ("cannot be kept on disk" in complaint) == (kept == "False")
