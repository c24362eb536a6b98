"""What docs/reports publishes: numbers in pages are those of the data, and make.sh refuses what would mix revisions."""

import json
import os
import re
import subprocess
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tests.helpers.programs import ROOT

REPORTS = ROOT / "docs" / "reports"


@pytest.fixture(scope="module")
def scripts():
    """The folder of the scripts is where Python looks first, as when one of them is run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(REPORTS))
        yield


@pytest.fixture
def numbers(scripts):
    import numbers_in_pages

    return numbers_in_pages


def test_the_pages_have_the_numbers_of_the_data(numbers):
    found = set()
    for name in numbers.PAGES:
        text = (ROOT / name).read_text()
        found |= {match[2] for match in numbers.BLOCK.finditer(text)}
        assert text == numbers.filled(text), f"python docs/reports/numbers_in_pages.py writes {name} anew"
        assert text.count("<!-- numbers: ") == len([*numbers.BLOCK.finditer(text)])
    assert found == {*numbers.BLOCKS}


def test_an_altered_digit_in_a_page_is_found(numbers):
    text = (ROOT / "README.md").read_text()
    block = next(numbers.BLOCK.finditer(text))
    digit = re.compile(r"\d").search(text, block.end(1))
    altered = text[: digit.start()] + str((int(digit[0]) + 1) % 10) + text[digit.end() :]
    assert numbers.filled(altered) == text


def test_seeds_that_never_arrived_are_counted(numbers):
    from published import Run, Runs

    from experiments.read.windows import Windows

    def run(seed, returns):
        ends = np.arange(1, len(returns) + 1) * 250_000.0
        return Run(seed, Windows(ends, np.array(returns), np.full(len(returns), np.nan), ends / 1000))

    side = Runs([run(0, [-20.0, 10.0, 15.0]), run(1, [-20.0, -5.0, 12.0]), run(2, [-20.0, -20.0, -19.0])])
    assert numbers._steps(side, 10.0) == "0.75 (2 of 3)"
    assert numbers._steps(side, 14.0) == "1 of 3"
    assert numbers._steps(side, 16.0) == ""
    assert numbers._minutes(side, 10.0) == "12.5"


def test_dopamine_s_curves_are_those_of_five_runs(scripts):
    from published import others

    rainbow = others("Rainbow", "Nature CNN")
    assert [run.seed for run in rainbow.runs] == [1, 2, 3, 4, 5]
    ends, returns = rainbow.curves
    np.testing.assert_allclose(ends, np.arange(1, 61) * 250_000)
    assert -21 <= returns.min() < -19
    assert 18 < returns[:, -1].mean() <= 21


def test_the_check_names_the_first_result_that_differs_and_no_time(scripts):
    from check import first_difference, next_seed

    published = pd.DataFrame({"episode_reward_mean": [1.0, np.nan], "time_total_s": [3.0, 4.0], "trial": ["a", "a"]})
    again = published.assign(time_total_s=[5.0, 6.0])
    assert first_difference(published, again) == ""
    again.loc[0, "episode_reward_mean"] = np.nextafter(1.0, 2.0)
    assert first_difference(published, again).startswith("row 0, episode_reward_mean: published 1.0")
    assert "2 rows published, 1 now" in first_difference(published, again[:1])
    low, high = next_seed(np.array([15.0, 16.0, 17.0]))
    assert low == pytest.approx(16 - 4.3027 * np.sqrt(4 / 3), abs=1e-3)
    assert high == pytest.approx(16 + 4.3027 * np.sqrt(4 / 3), abs=1e-3)


def test_the_check_took_another_name_of_the_trial_for_a_difference(scripts):
    from check import first_difference

    columns = ["trial", "config/seed", "config/num_workers", "episode_reward_mean"]
    published = pd.DataFrame([("00000_g=0.99_w=2", 7, 2, 1.0)], columns=columns)
    assert first_difference(published, published.assign(trial="00000_g=0.99_w=1", **{"config/num_workers": 1})) == ""
    assert first_difference(published, published.assign(trial="00000")) == ""
    assert "config/seed: published 7, now 8" in first_difference(published, published.assign(**{"config/seed": 8}))


@pytest.mark.parametrize("name", ["pg", "trpo", "sweep"])
def test_another_machine_s_rows_are_the_published_ones(scripts, name):
    from elsewhere import difference_of_trials, pair

    published, there = pair(name)
    assert difference_of_trials(published, there) == ""
    altered = there.assign(episode_reward_mean=np.nextafter(there["episode_reward_mean"], 99))
    assert "trial 00000, row 0, episode_reward_mean: published" in difference_of_trials(published, altered)


def test_the_same_trials_went_on_after_the_first_round_on_more_cores(scripts):
    from elsewhere import pair

    longest = [rows.groupby(rows["trial"].str.partition("_")[0])["training_iteration"].max() for rows in pair("sweep")]
    first_round = longest[1].min()
    went_on = [{*most[most > first_round].index} for most in longest]
    assert went_on[0] == went_on[1]
    assert len(went_on[0]) == 4


def test_the_winner_of_a_sweep_is_the_best_of_those_that_went_to_the_end(scripts):
    from sweep_numbers import winner_of

    columns = ["trial", "timesteps_total", "episode_reward_mean"]
    rows = [("a", 300, -1.0), ("b", 300, 9.0), ("c", 300, 2.0), ("a", 4000, 17.0), ("c", 4030, 16.0)]
    assert winner_of(pd.DataFrame(rows, columns=columns)).name == "a"


def test_a_core_is_idle_for_as_long_as_a_trial_waits_that_could_run(scripts):
    from waits import longest_wait_s

    def trial(name, *iterations):
        rows = [
            {
                "timesteps_total": steps,
                "timesteps_this_iter": 100,
                "timestamp": end,
                "time_this_iter_s": end - start,
                "perf/workers": 1,
            }
            for steps, start, end in iterations
        ]
        return SimpleNamespace(name=name, rows=rows)

    def longest(third_begins, cores):
        trials = [
            trial("a", (100, 0, 10), (200, 25, 35)),
            trial("b", (100, 0, 20)),
            trial("c", (100, third_begins, third_begins + 7)),
        ]
        return longest_wait_s(SimpleNamespace(trials=trials, decisions=[SimpleNamespace(at=90)]), cores)

    assert longest(10, 2) == 5, "a waits for b until 20, and for a core until 25"
    assert longest(13, 2) == 5
    assert longest(18, 2) == 8, "c waits from 10 on, while b has one core"
    assert longest(18, 1) == 0, "b has the core, and a begins with the end of c"


@pytest.fixture
def checkout(tmp_path):
    """A clone of the committed code, and a program in place of Python that notes what it is asked for."""
    clone, program = tmp_path / "clone", tmp_path / "python"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    (clone / "docs/reports/make.sh").write_bytes((REPORTS / "make.sh").read_bytes())
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\ntest ! -e {tmp_path}/fails\n')
    program.chmod(0o755)

    def make(*words):
        environment = os.environ | {"PYTHON": str(program)}
        command = [str(clone / "docs/reports/make.sh"), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)

    return clone, make


def test_make_runs_each_step_once_and_goes_on_after_a_failure(checkout, tmp_path):
    _, make = checkout
    folder, asked, fails = tmp_path / "out", tmp_path / "asked", tmp_path / "fails"
    fails.touch()
    failed = make(folder, "karpathy", "trpo")
    assert failed.returncode == 1
    assert "karpathy failed" in failed.stderr
    fails.unlink()
    (folder / "karpathy").mkdir()  # the experiment had begun
    assert make(folder, "karpathy", "trpo").returncode == 0
    assert make(folder, "karpathy").stdout == "karpathy: done\n"
    first, second, third = asked.read_text().splitlines()
    assert "--preset karpathy" in first
    assert "--resume karpathy" in second
    assert "train.py trpo --seeds 5" in third
    assert {line.split("\t")[0] for line in (folder / "seconds.tsv").read_text().splitlines()} == {"karpathy", "trpo"}


def test_make_refuses_what_would_mix_revisions(checkout, tmp_path):
    clone, make = checkout
    assert "there is no step sweeps" in make(tmp_path / "out", "sweeps").stderr
    assert "lies in the checkout" in make(clone / "out", "trpo").stderr
    assert make().returncode == 2
    assert make(tmp_path / "out", "trpo").returncode == 0
    assert make(tmp_path / "out", "confirm_pg").returncode == 0
    assert (tmp_path / "out" / "sweep_pg.done").exists(), "it goes on with that one"
    other = clone / "trainables" / "other.py"
    other.write_text('"""Other code."""\n')
    assert "commit or undo" in make(tmp_path / "out", "trpo").stderr
    subprocess.run(["git", "add", "-A"], cwd=clone, check=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, "commit", "-qm", "other"], cwd=clone, check=True)
    assert re.fullmatch(r"trpo: done, of [0-9a-f]{12}\n", make(tmp_path / "out", "trpo").stdout), "it stays as it is"
    (tmp_path / "out" / "trpo.done").unlink()
    assert "was begun with other code" in make(tmp_path / "out", "trpo").stderr


def test_what_was_published_of_the_same_code_elsewhere_was_made_again(checkout, tmp_path):
    """So no machine could do a part of the work, and a folder that was lost had to be made again from its beginning."""
    clone, make = checkout
    log = ["git", "log", "-1", "--format=%H", "--", "trainables", "search_spaces", "pyproject.toml"]
    revision = subprocess.run(log, cwd=clone, capture_output=True, text=True, check=True).stdout.strip()
    data = clone / "docs" / "reports" / "data" / "made.json"
    made = json.loads(data.read_text())
    data.write_text(json.dumps(made | {"revisions": {"pg": revision, "trpo": "0" * 40}}, indent=1))
    (tmp_path / "fails").touch()
    made = make(tmp_path / "out")
    assert made.stdout.startswith("pg: published, of this code\ntrpo: "), "trpo is of other code"
    (tmp_path / "fails").unlink()
    assert make(tmp_path / "out", "pg").stdout.endswith("s\n"), "asked for, it is made"


def test_publishing_the_numbers_of_a2c_made_it_a_run_of_other_code(checkout, tmp_path):
    """They stand in the page with its file, so `make.sh FOLDER` trained it again after each publication."""
    clone, make = checkout
    page = clone / "docs" / "own_learner.md"
    (tmp_path / "fails").touch()

    def revision_of_a2c(text):
        page.write_text(text)
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, "commit", "-qam", "a change"], cwd=clone, check=True)
        assert make(tmp_path / "out", "a2c").returncode == 1
        begun = tmp_path / "out" / "a2c.begun"
        revision = begun.read_text()
        begun.unlink()
        return revision

    published = page.read_text().replace("of 3 seeds come", "of 4 seeds come")
    assert published != page.read_text()
    before = revision_of_a2c(page.read_text() + "\n")
    assert revision_of_a2c(published + "\n") == before
    assert revision_of_a2c(published + "\nlearning_rate = 1\n") != before


def test_a_confirmation_stands_beside_its_sweep(scripts, tmp_path, monkeypatch):
    import sweep_numbers

    def rows(trial, configuration, gamma, seed, *results):
        names = ["timesteps_total", "episode_reward_mean"]
        about = {"trial": trial, "configuration": configuration, "config/gamma": gamma, "config/seed": seed}
        return [about | dict(zip(names, result, strict=True)) for result in results]

    sweep = rows("a", 0, 0.98, 0, (1e6, 3.0), (2e6, 17.0)) + rows("b", 1, 0.99, 1, (1e6, 9.0))
    again = rows("c", 0, 0.98, 5, (1e6, 1.0), (2e6, 14.0)) + rows("d", 0, 0.98, 6, (1e6, 2.0), (2e6, 15.0))
    again += rows("e", 1, 0.99, 5, (1e6, 4.0), (2e6, 16.0)) + rows("f", 1, 0.99, 6, (1e6, 5.0), (2e6, 18.0))
    pd.DataFrame(sweep).to_parquet(tmp_path / "sweep_pg.parquet")
    pd.DataFrame(again).to_parquet(tmp_path / "confirm_pg.parquet")
    monkeypatch.setattr(sweep_numbers, "DATA", tmp_path)
    *_, first, second = sweep_numbers.confirmed().splitlines()
    assert first == "| `sweep_pong.py --seed 0` | `gamma=0.98` | 2.0 M | 17.0 | 14.0, 15.0 | 14.0, 15.0 |"
    assert second == "| `sweep_pong.py --seed 0` | `gamma=0.99` | 1.0 M | 9.0 | 4.0, 5.0 | 16.0, 18.0 |"
