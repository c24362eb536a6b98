"""Results do not depend on the kind of processor."""

import os
import subprocess
import sys

import pytest

from tests.helpers.programs import ROOT
from trainables.processor import AVX2_KERNELS, KERNELS

pytestmark = pytest.mark.skipif(os.environ.get(KERNELS) != AVX2_KERNELS, reason="there is no AVX2")

LOADED = """
import numpy, scipy.linalg
from threadpoolctl import threadpool_info
print({library["architecture"] for library in threadpool_info() if library["internal_api"] == "openblas"})
"""

EACH = """
import contextlib, io, os, runpy, sys

def note(event, args):
    if event == "import" and args[0] == "numpy":
        print(os.environ.get("OPENBLAS_CORETYPE"), file=sys.__stdout__, flush=True)

sys.addaudithook(note)
for path in sys.argv[1:]:
    if not os.fork():
        sys.argv = [path, "--help"]
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(path, run_name="__main__")
        import numpy
        os._exit(0)
    os.wait()
"""
"""Prints what OpenBLAS will read, as each program is about to load it."""

LEARN = """
import hashlib
import experiments
from search_spaces import pong_pg
from trainables.trainable import PongPG, PongTRPO
from experiments.run.ray_session import start_local

start_local(2, log_to_driver=False)
common = {"num_workers": 1, "seed": 7, "eval_interval": 0}
segments = common | {"slots": 4, "segment_length": 250, "updates_per_iteration": 3}
reinforce = pong_pg.PRESETS["karpathy"] | common | {"games_per_update": 3}
for trainable, settings in ((PongPG, reinforce), (PongPG, segments), (PongTRPO, segments)):
    trial = trainable(config=settings)
    for _ in range(3):
        trial.train()
    whole = b"".join(trial.arrays[name].tobytes() for name in sorted(trial.arrays))
    print("learned", hashlib.sha256(whole).hexdigest())
    trial.stop()
"""

WITHOUT_AVX512 = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx2,+fma",
}
"""NumPy and numba as on a processor of 2013."""


def printed(code, *words, **changes):
    environment = {name: value for name, value in os.environ.items() if name != KERNELS} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment | changes, timeout=500)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_every_program_chooses_the_same_kernels_on_any_processor_before_it_loads_numpy():
    programs = sorted(map(str, (ROOT / "experiments").glob("[!_]*.py")))
    assert printed(EACH, *programs).split() == [AVX2_KERNELS] * len(programs)


@pytest.mark.parametrize(("changes", "kernels"), [({}, AVX2_KERNELS), ({KERNELS: "Sandybridge"}, "Sandybridge")])
def test_kernels_are_those_for_avx2_or_what_the_user_has_chosen(changes, kernels):
    assert printed("import trainables" + LOADED, **changes).strip() == str({kernels})


@pytest.mark.ray
@pytest.mark.slow
def test_one_seed_learns_the_same_on_processors_of_two_kinds(tmp_path):
    """By BLAS alone: what NumPy and numba make of AVX-512 changes no bit."""
    here = printed(LEARN)
    assert here.count("learned") == 3
    assert printed(LEARN, NUMBA_CACHE_DIR=str(tmp_path), **WITHOUT_AVX512) == here
