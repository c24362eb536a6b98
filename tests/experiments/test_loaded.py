"""What programs load: nothing that takes a second where the answer does not need it."""

import json
import os
import subprocess
import sys

from tests.helpers.programs import ROOT

ANSWERS = [
    *(f"{name}.py --help" for name in ("train", "sweep", "sweep_pong", "sweep_trpo", "results", "watch", "benchmark")),
    *("train.py pg --help", "sweep.py trpo --help", "benchmark.py tune --help"),
    *(
        f"results.py {name} --help"
        for name in ["list", "report", "compare", "table", "best", "export", "verify", "replay"]
    ),
    *("results.py list", "results.py best pg-sweep"),
]
REFUSALS = [
    *("results.py lst", "results.py report pg-swep", "results.py verify", "results.py compare nothing pg-sweep"),
    *("train.py pg --gama 0.9", "train.py trpo --max-kl 0", "train.py pg --resume sweep", "sweep.py nobody:Learner"),
    *("sweep_pong.py --num-workers 4000", "sweep_pong.py --num-workers 4000 --scheduler fifo --dry-run"),
    *("sweep_pong.py --sweep gamma=2", "sweep_trpo.py --name pg-sweep", "watch.py pg-swep", "watch.py pg --out a.png"),
    *("benchmark.py simulate --nodes 0", "benchmark.py sweep --keep ."),
]
CODE = """
import json, sys
from tests.helpers.programs import call

heavy, loaded = {"ray", "numba", "matplotlib", "scipy.stats", "pandas"}, {}
for words in sys.argv[1:]:
    status, _, _ = call(*words.split())
    loaded[words] = [status, sorted(heavy & sys.modules.keys())]
print(json.dumps(loaded))
"""


def test_help_lists_and_refusals_load_no_heavy_library_and_tables_pandas_alone(store):
    words = [sys.executable, "-c", CODE, *ANSWERS, *REFUSALS, "results.py table pg-sweep"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=store.parent, env=environment, stdout=subprocess.PIPE, check=True)
    expected = {words: [0, []] for words in ANSWERS} | {words: [2, []] for words in REFUSALS}
    assert json.loads(done.stdout) == expected | {"results.py table pg-sweep": [0, ["pandas"]]}
