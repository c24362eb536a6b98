"""What docs/reports publishes: tables in pages are those of the data, and make.sh refuses what would mix revisions."""

import json
import os
import re
import subprocess

import numpy as np
import pandas as pd
import pytest

from experiments.analysis.windows import Windows
from tests.helpers.programs import ROOT

REPORTS = ROOT / "docs" / "reports"


@pytest.fixture(scope="module")
def publish():
    """The program; its folder is where Python looks first, as when it is run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(REPORTS))
        import publish

        yield publish


def test_the_pages_have_the_tables_of_the_data(publish):
    assert publish.differing() == [], "python docs/reports/publish.py writes them anew"
    text = "".join(page.read_text() for page in publish.PAGES)
    assert sorted(re.findall("<!-- numbers: (.*) -->", text)) == sorted(publish.MAKERS)
    block = next(block for block in publish.BLOCK.finditer(text) if block[2] == "learners")
    digit = re.compile(r"\d").search(block[0], len(block[1]))
    altered = block[0][: digit.start()] + str((int(digit[0]) + 1) % 10) + block[0][digit.end() :]
    assert publish.filled(altered) == block[0]


def test_the_figures_say_what_a_step_is_in_these_runs(publish):
    for figure in (publish.learners_figure(), publish.beside_others_figure()):
        assert figure.axes[0].get_xlabel() == "agent steps (4 frames each)"


def test_the_page_of_records_says_by_which_measures_one_set_of_runs_has_two_figures(publish):
    text, tables = " ".join((ROOT / "docs" / "records.md").read_text().split()), publish.learning_tables
    mean, _ = tables.at_the_end(tables.runs("pg"))
    score = tables.rows_of("pg").groupby("trial").tail(1)["episode_score"].mean()
    assert f"{mean.split()[0]} is the mean of the seeds' last whole window" in text
    assert f"names {score:.1f}, the mean of the seeds' scores" in text


def test_runs_that_never_arrived_are_counted(publish):
    def run(*returns):
        ends = np.arange(1, len(returns) + 1) * 250_000.0
        return Windows(ends, np.array(returns), np.full(len(returns), np.nan), ends / 1000)

    side, tables = [run(-20.0, 10.0, 15.0), run(-20.0, -5.0, 12.0), run(-20.0, -20.0, -19.0)], publish.learning_tables
    assert [tables.steps_to(side, score) for score in (10, 14, 16)] == ["0.75 (2 of 3)", "1 of 3", "0 of 3"]
    assert tables.arrivals(tables.in_minutes(side), 10) == ([500 / 60, 12.5], [12.5])


def test_the_check_names_the_first_result_that_differs_and_no_time_or_name(publish):
    columns = ["trial", "config/seed", "config/num_workers", "episode_reward_mean", "time_total_s"]
    published = pd.DataFrame([("0_w=2", 7, 2, 1.0, 3.0), ("0_w=2", 7, 2, np.nan, 4.0)], columns=columns)
    again = published.assign(time_total_s=[5.0, 6.0], trial="0_w=1", **{"config/num_workers": 1})
    assert publish.first_difference(published, again) == ""
    assert "2 rows published, 1 now" in publish.first_difference(published, again[:1])
    assert "config/seed: published 7, now 8" in publish.first_difference(published, again.assign(**{"config/seed": 8}))
    again.loc[0, "episode_reward_mean"] = np.nextafter(1.0, 2.0)
    assert publish.first_difference(published, again).startswith("row 0, episode_reward_mean: published 1.0")


def test_usual_values_are_of_the_iterations_that_lie_in_the_last_100_000_steps(publish):
    rows = pd.DataFrame(
        {
            "timesteps_this_iter": 40_000,
            "timesteps_total": [40_000, 80_000, 120_000, 160_000],
            "episode_reward_batch_mean": [-21.0, -20.0, -10.0, 8.0],
            "episodes_this_iter": [9, 9, 3, 1],
            "policy/entropy": [1.0, 0.8, 0.6, 0.1],
            "policy/kl": [0.1, 0.03, 0.01, 0.1],
            "value/explained_variance_before": [0.0, 0.2, 0.4, 0.9],
            "value/explained_variance_after": 0.9,
        }
    )
    assert publish.learning_tables.means_at(rows, 100_000) == pytest.approx((-17.5, 0.7, 0.02, 0.3))


def test_sentences_have_the_revisions_speeds_and_accepted_updates_of_the_data(publish):
    tables, made = publish.learning_tables, json.loads((REPORTS / "data" / "made.json").read_text())["revisions"]
    learners = {made["pg"][:12], made["trpo"][:12]}
    every = {revision[:12] for revision in made.values()}
    pages = {
        "docs/faults.md": learners,
        "docs/reference.md": every,
        "docs/reports/protocol.md": every,
        "README.md": every,
    }
    for page, revisions in pages.items():
        named = {*re.findall("`([0-9a-f]{12})`", (ROOT / page).read_text())}
        assert learners <= named <= revisions, page
    speeds = pd.concat([tables.rows_of(name).groupby("trial")["perf/steps_per_s"].median() for name in tables.LEARNERS])
    faults = (ROOT / "docs" / "faults.md").read_text()
    assert f"has {speeds.min():,.0f} to {speeds.max():,.0f} agent steps a second" in faults
    early = tables.rows_of("trpo").query("timesteps_total <= 1_000_000")
    assert "every update of the first million steps found a step" in faults
    assert (early["policy/update_accepted"] == 1).all()


def test_the_winner_of_a_sweep_is_the_best_of_those_that_went_to_the_end(publish):
    columns = ["timesteps_total", "episode_reward_mean"]
    last = pd.DataFrame([(4000, 17.0), (300, 19.0), (4030, 16.0)], index=["a", "b", "c"], columns=columns)
    assert publish.speed_tables.winner(last).name == "a"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A clone of the committed code, and a program in place of Python that notes what it is asked for."""
    folder = tmp_path_factory.mktemp("checkout")
    clone, program, asked, fails = (folder / name for name in ("clone", "python", "asked", "fails"))
    subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(clone)], check=True)
    (clone / "docs/reports/make.sh").write_bytes((REPORTS / "make.sh").read_bytes())
    for name in ("long_pg", "long_trpo"):
        (clone / f"docs/reports/{name}.md").touch()  # a report's page, which the program does not write
    program.write_text(f'#!/bin/sh\necho "$@" >> {asked}\ntest ! -e {fails}\n')
    program.chmod(0o755)

    def make(*words, fail=False):
        fails.touch() if fail else fails.unlink(missing_ok=True)
        asked.unlink(missing_ok=True)
        command = [str(clone / "docs/reports/make.sh"), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHON": str(program)})
        return done, asked.read_text().splitlines() if asked.exists() else []

    return clone, make


def git(clone, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    found = subprocess.run(["git", "-C", str(clone), *identity, *words], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def test_make_runs_each_step_once_and_goes_on_after_a_failure(checkout, tmp_path):
    _, make = checkout
    folder = tmp_path / "out"
    failed, asked = make(folder, "karpathy", "trpo", fail=True)
    assert failed.returncode == 1
    assert "karpathy failed" in failed.stderr
    assert "--preset karpathy" in asked[0]
    (folder / "karpathy").mkdir()  # the experiment had begun
    done, (first, published, second, _) = make(folder, "karpathy", "trpo")
    assert done.returncode == 0
    assert "--resume karpathy" in first
    assert published.endswith(f"publish.py {folder} karpathy"), "its data are in the checkout as soon as it is done"
    assert "train.py trpo --seed 71 --seeds 10" in second
    assert make(folder, "karpathy")[0].stdout == "karpathy: done\n"
    assert {line.split("\t")[0] for line in (folder / "seconds.tsv").read_text().splitlines()} == {"karpathy", "trpo"}


def test_make_checks_one_seed_of_each_learner_and_the_published_sweep(checkout, tmp_path):
    done, (pg, trpo, sweep, compare) = checkout[1](tmp_path / "out", "--check")
    assert done.returncode == 0
    assert "train.py pg --seed 71" in pg
    assert "train.py trpo --seed 0" in trpo
    assert re.search(r"sweep_pong\.py --seed 0 --num-samples \d+ --timesteps \d+ --time-budget-s", sweep)
    assert compare.endswith("publish.py " + str(tmp_path / "out") + " --check")


def test_a_step_s_report_policy_and_film_are_made_with_it_before_it_is_published(checkout, tmp_path):
    clone, make = checkout
    done, asked = make(tmp_path, "long_pg")
    assert done.returncode == 0, done.stderr
    made = ["train.py pg", "results.py report long_pg", "results.py export long_pg", "watch.py long_pg --film"]
    for command, what in zip(asked, [*made, f"publish.py {tmp_path} long_pg"], strict=True):
        assert what in command
    git(clone, "checkout", "-q", "--", "trainables/trained")


def test_a_confirmation_makes_its_sweep_first_and_has_a_report_with_it(checkout, tmp_path):
    asked = checkout[1](tmp_path, "confirm_trpo")[1]
    reports = [words.split(" --out ")[0] for words in asked if "results.py report" in words]
    assert [words.split("report ")[1] for words in reports] == ["sweep_trpo", "sweep_trpo sweep_trpo-confirm"]


def test_policies_that_come_along_are_committed_before_their_games_are_played(checkout, tmp_path):
    clone, make = checkout
    done, _ = make(tmp_path, "long_trpo", "policies")  # the program that stands in for Python exports nothing
    assert done.returncode == 2
    assert "commit" in done.stderr
    git(clone, "checkout", "-q", "--", "trainables/trained")
    assert make(tmp_path, "policies")[0].returncode == 0


def test_make_trains_again_what_is_not_published_of_this_code(checkout, tmp_path):
    clone, make = checkout
    parts = "trainables", ":!trainables/trained", "search_spaces", "pyproject.toml"
    revision = git(clone, "log", "-1", "--format=%H", "--", *parts)
    data = clone / "docs" / "reports" / "data" / "made.json"
    made = json.loads(data.read_text())
    data.write_text(json.dumps(made | {"revisions": {"pg": revision, "trpo": "another"}}, indent=1))
    assert make(tmp_path, fail=True)[0].stdout.startswith("pg: published, of this code\ntrpo: ")
    assert make(tmp_path, "pg")[0].stdout.endswith("s\n"), "asked for, it is made"


def test_a_step_that_was_done_and_could_not_be_published_is_published_when_it_is_asked_for_again(checkout, tmp_path):
    _, make = checkout
    assert make(tmp_path, "trpo")[0].returncode == 0
    done, asked = make(tmp_path, "trpo")
    assert done.stdout == "trpo: done\n"
    assert [line.split("publish.py ")[1] for line in asked] == [f"{tmp_path} trpo"]


def test_a_step_s_data_and_its_line_of_made_json_are_brought_and_no_other_s(publish, tmp_path, monkeypatch):
    data, folder = tmp_path / "data", tmp_path / "made"
    data.mkdir()
    folder.mkdir()
    monkeypatch.setattr(publish, "DATA", data)
    before = {"revisions": {"trpo": "a"}, "made": {"trpo": {"day": "2026-11-26"}}}
    (data / "made.json").write_text(json.dumps(before))
    for name in ("benchmark_sweep_pg_1", "benchmark_sweep_pg_2"):
        (folder / f"{name}.json").write_text("[]")
    (folder / "sweep_pg_1.begun").write_text("b\n")
    (folder / "seconds.tsv").write_text("sweep_pg_1\t5\nsweep_pg_1\t7\nsweep_pg_2\t9\n")
    publish.bring(folder, "sweep_pg_1")
    assert sorted(path.name for path in data.iterdir()) == ["benchmark_sweep_pg_1.json", "made.json"]
    made = json.loads((data / "made.json").read_text())
    assert made["revisions"] == {"sweep_pg_1": "b", "trpo": "a"}
    assert made["made"]["trpo"] == before["made"]["trpo"]
    assert made["made"]["sweep_pg_1"]["seconds"] == 12, "an interrupted step has several lines"


def test_a2c_is_of_other_code_when_its_file_in_the_page_changes_and_not_its_sentences(checkout, tmp_path):
    clone, make = checkout
    page, revisions = clone / "docs" / "own_learner.md", []
    text = page.read_text()
    for changed in (text + "\n", text.replace("of 3 seeds", "of 4 seeds") + "\n", text + "\nlearning_rate = 1\n"):
        page.write_text(changed)
        git(clone, "commit", "-qam", "a change")
        assert make(tmp_path, "a2c", fail=True)[0].returncode == 1
        revisions.append((tmp_path / "a2c.begun").read_text())
        (tmp_path / "a2c.begun").unlink()
    assert revisions[0] == revisions[1] != revisions[2]


def test_make_refuses_what_would_mix_revisions(checkout, tmp_path):
    clone, make = checkout
    folder = tmp_path / "out"
    assert "there is no step sweeps" in make(folder, "sweeps")[0].stderr
    assert "lies in the checkout" in make(clone / "out", "trpo")[0].stderr
    assert make()[0].returncode == 2
    assert make(folder, "confirm_pg")[0].returncode == 0
    assert (folder / "sweep_pg.done").exists(), "it goes on with that one"
    assert make(folder, "trpo")[0].returncode == 0
    (clone / "trainables" / "other.py").write_text('"""Other code."""\n')
    assert "commit or undo" in make(folder, "trpo")[0].stderr
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "other")
    assert re.fullmatch(r"trpo: done, of [0-9a-f]{12}\n", make(folder, "trpo")[0].stdout), "it stays as it is"
    (folder / "trpo.done").unlink()
    assert "was begun with other code" in make(folder, "trpo")[0].stderr
