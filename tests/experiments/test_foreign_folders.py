"""What a folder holds that somebody else could write to: no program runs, imports, unpickles, follows or obeys it.

What a single file is refused for is tested where it is read: tests/trainables/test_texts.py, test_checkpoints.py, and
tests/experiments/disk/test_folders.py.
"""

import json
import os
import pickle
import re
import resource
import shutil
import time
from pathlib import Path

import pytest
import ray

from experiments.disk.folders import RECORD
from experiments.disk.trial_checkpoints import copy_checkpoint
from experiments.show.outputs import require_film
from tests.helpers.foreign_experiments import common_folder, make_sound, unprivileged, watched
from tests.helpers.programs import call, refused
from tests.helpers.trials import Trap, edited_state
from tests.helpers.written_experiments import write_experiment
from trainables.checkpoints import ARRAYS, STATE
from trainables.checks import ConfigError
from trainables.config import PGConfig
from trainables.sampling.memory import BoxEnvironment, flat_environment
from trainables.surroundings import SOCKETS_FOLDER, private_folder

pytestmark = pytest.mark.ray  # runs whole programs for seconds

CPU_S, MEMORY = 30, 4 * 2**30
"""What a program may take: seconds of a core, and bytes beyond what it has."""
CLIPBOARD = "\x1b]52;c;aGk=\x07"
EVIL = "evil_module:Evil-v0"
ONE = [({}, [-20.0, -19.0], "running")]


class RayBegins(BaseException):
    """The program came as far as Ray."""


def begin(*args, **options):
    raise RayBegins


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    make_sound(tmp_path_factory.mktemp("sound") / "results")
    return tmp_path_factory.getbasetemp() / "sound0"


@pytest.fixture
def work(sound, tmp_path, monkeypatch):
    """The folder that programs work in, with sound experiments; beside it is all that nobody may touch."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_text("precious")
    (tmp_path / "evil_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    private_folder(SOCKETS_FOLDER)  # made once in a process, and no part of what a program does to an experiment
    monkeypatch.setattr(ray, "init", begin)  # programs end where they would start a Ray
    monkeypatch.setattr(ray, "is_initialized", lambda: False)  # also where this process has one for other tests
    shutil.copytree(sound, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


COMMANDS = [
    *("results.py list", "results.py report trpo", "results.py compare trpo trpo", "results.py table trpo"),
    *("results.py table trpo --rows", "results.py table trpo --windows --format json", "results.py best trpo"),
    *("results.py best trpo --json", "results.py export trpo --out trpo-policy", "watch.py trpo --episodes 1"),
    *("sweep_trpo.py --extend trpo --iterations 4", "sweep_trpo.py --fork trpo --iterations 4"),
    *("sweep_trpo.py --resume trpo", "train.py trpo --resume results/trpo"),
]
"""The command lines that read an experiment."""


def harmless(work, argv, done=""):
    """Run a program, and see that it does no harm and ends well or in one line; returns what it says."""
    outside = work.parent / "outside"
    before, began = sorted(outside.iterdir()), time.process_time()
    limit = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    status, output, complaint = None, "", ""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, limit[1]))
        with watched(work) as found:
            status, output, complaint = call(*argv)
    except RayBegins:
        pass
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)
    case = (done, argv, status, complaint)
    assert not found, (case, found)
    assert sorted(outside.iterdir()) == before, case
    assert (outside / "precious").read_text() == "precious", case
    assert time.process_time() - began < CPU_S, case
    assert "Traceback" not in output + complaint, case
    assert (output + complaint).replace("\n", "").isprintable(), (case, output)
    assert status in (None, 0) or (status == 2 and complaint.strip() and complaint.count("\n") == 1), case
    return status, output + complaint


# What stays unread: every program ends as if it were not there


def test_what_lies_in_an_experiment_beside_its_own_files_is_neither_run_nor_opened(work):
    trap, folder = pickle.dumps(Trap(work.parent / "outside" / "sprung")), work / "results" / "trpo"
    trial = next(folder.glob("0*"))
    for place in (folder / "tuner.pkl", folder / "error.pkl", trial / "params.pkl"):
        place.write_bytes(trap)
    for name in ("learner-1.py", "evil.py", "mine.yaml"):
        (folder / name).write_text("raise SystemExit('run')")
    (trial / "error.txt").write_text("<script>\x1b]52;c;aGk=\x07 <img src=x onerror=alert(1)>")
    for name in ("report.md.tmp", "experiment.json.tmp", ".lock.tmp"):
        (folder / name).symlink_to(work.parent / "outside" / "precious")
    (trial / "checkpoint_000007.bak").symlink_to("/")
    os.mkfifo(trial / "pipe")
    origin = {"git": {"revision": "<script>", "dirty": False}, "platform": "<script>"}
    change(folder / RECORD, command=["../../evil.py", "\x1b[31m", "$(evil)"], origin=origin)
    for command in COMMANDS:
        status, said = harmless(work, command.split())
        assert status in (None, 0), (command, said)
        assert "evil.py" not in said, command
    html = (folder / "report.html").read_text()
    assert not re.search("<script>|<img src=x", re.sub(r"<code[^>]*>.*?</code>", "", html, flags=re.DOTALL))
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to(work.parent / "outside" / "precious")
    assert "is a link" in harmless(work, ["results.py", "report", "trpo"])[1]
    pickle.loads(trap)
    assert (work.parent / "outside" / "sprung").exists(), "the trap is a real one"


# What is read and believed: it is refused in one line, or left out


def change(path, **entries):
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def in_record(**entries):
    return lambda experiment: change(experiment / RECORD, **entries)


def in_settings(checkpoints=True, **settings):
    """Settings in each file that has some."""

    def attack(experiment):
        record = json.loads((experiment / RECORD).read_text())
        change(experiment / RECORD, configs=[config | settings for config in record["configs"]])
        for path in experiment.glob("0*/params.json"):
            change(path, **settings)
        for path in experiment.glob("0*/checkpoint_*") if checkpoints else []:
            with edited_state(path) as state:
                state["config"] |= settings

    return attack


def each(pattern, act):
    """Something that is done to each file or folder of a name."""
    return lambda experiment: [act(path) for path in sorted(experiment.glob(pattern))]


def rewrite(content):
    return lambda path: path.write_bytes(content)


def link(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to(Path("../outside/precious" if path.suffix else "../outside").resolve())


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def put_pickle(folder):
    (folder / "x.pkl").write_bytes(pickle.dumps(Trap(Path("../outside/sprung"))))


HUGE = {"hidden_sizes": "1000000-1000000-1000000"}
ATTACKS = {
    # what somebody did to an experiment, and what a program says about it, where one says anything
    "a module as environment": (in_settings(env_id=EVIL), "unknown to Gymnasium"),
    "a module as learner": (in_record(learner="evil_module.Evil"), "--learner evil_module:Evil imports it"),
    "a path as learner": (in_record(learner="../../escaped"), "unknown learner"),
    "control characters in texts": (in_settings(env_id=CLIPBOARD), "unknown to Gymnasium"),
    "control characters in names": (each("00000*", lambda path: path.rename(f"{path}{CLIPBOARD}")), "can be printed"),
    "a network of 10^12 weights": (in_settings(**HUGE), "its configuration needs (2000009000002,)"),
    "and smaller checkpoints": (in_settings(checkpoints=False, **HUGE), "no trial of it has a checkpoint yet"),
    "a bucket with credentials": (in_record(storage_uri="s3://KEY:SECRET@bucket/x"), "belong into the environment"),
    "types": (in_record(iterations="x", configs=3), "Damaged trpo:"),
    "half a record": (each(RECORD, rewrite(b'{"learner": "p')), "Damaged trpo:"),
    "settings that are no text": (each("0*/params.json", rewrite(b"\xff\xfe\x00")), ""),
    "pickles beside arrays": (each("0*/check*", put_pickle), "holds a pickle"),
    "trials that are links": (each("0*", link), "is a link"),
    "rows that are links": (each("0*/result.json", link), ""),
    "arrays that are links": (each("0*/*/" + ARRAYS, link), "damaged or incomplete"),
    "pipes": (each("0*/*.json", pipe), ""),
}
PROGRAMS = [
    *("results.py list", "results.py best trpo", "results.py table trpo", "results.py export trpo --out policy"),
    *("watch.py trpo", "sweep_trpo.py --resume trpo", "sweep_trpo.py --fork trpo --iterations 9"),
]


@pytest.mark.parametrize("name", ATTACKS)
def test_what_somebody_wrote_into_an_experiment_does_no_harm(name, work):
    attack, words = ATTACKS[name]
    attack(Path("results/trpo"))
    said = [harmless(work, program.split(), name) for program in PROGRAMS]
    assert said[0][0] == 0
    assert re.search("^pg +interrupted", said[0][1], re.MULTILINE), "the other one is listed as ever"
    assert words in "".join(text for _, text in said)


def test_no_flag_or_setting_has_a_module_imported(work):
    for name in (EVIL, "evil_module:CartPole-v1", "evil_module:ALE/Pong-v5", "evil_module:"):
        for make in (lambda name: PGConfig(env_id=name), flat_environment, BoxEnvironment):
            with watched(work) as found, pytest.raises(ValueError, match="unknown to Gymnasium"):
                make(name)
            assert not found
        _, said = harmless(work, ["train.py", "trpo", "--preset", "cartpole", "--env-id", name])
        assert "unknown to Gymnasium" in said
    with pytest.raises(ValueError, match=r"env_id 'GymV21Environment-v0' cannot be made"):
        BoxEnvironment("GymV21Environment-v0")


def test_what_lies_beside_a_checkpoints_own_files_is_not_copied(work):
    folder = next(work.glob("results/trpo/*/checkpoint_000002"))
    (folder / "everything").symlink_to("/")
    put_pickle(folder)
    copy_checkpoint(folder, work / "new")
    assert sorted(os.listdir(work / "new")) == [ARRAYS, STATE]


def test_a_report_counts_no_row_that_has_a_text_for_a_number(work):
    (path,) = work.glob("results/trpo/00000*/result.json")
    rows = path.read_text().splitlines()
    last = json.loads(rows[-1])
    others = [last | {"training_iteration": 100 + index, name: "x"} for index, name in enumerate(last)]
    path.write_text("\n".join([*rows, *map(json.dumps, others)]))
    assert harmless(work, ["results.py", "report", "trpo"], path)[0] == 0


def test_folders_without_permission_are_left_out_or_named_in_one_line():
    with common_folder() as folder:
        make_sound(folder)
        (folder / "trpo").chmod(0o555)
        for name, mode in (("closed", 0o000), ("unlisted", 0o111)):
            write_experiment(folder, name, "pg", ONE).chmod(mode)
        with unprivileged():
            status, output, _ = call("results.py", "list", "--storage-path", folder)
            for command in ("best", "export"):
                refused("results.py", command, "nothing", "--storage-path", folder)
            assert "trpo cannot be written" in refused("sweep_trpo.py", "--resume", folder / "trpo")
            with pytest.raises(ConfigError, match="cannot be written"):
                require_film(folder / "trpo" / "film.gif")
    assert status == 0
    assert "Damaged unlisted:" in output
