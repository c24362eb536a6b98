"""Reports: each figure equals the one computed here by hand from ``result.json``."""

import datetime
import json
import re
import statistics

import matplotlib as mpl
import pytest

from experiments.disk.decisions import Decision, WinnerGames, write_decisions, write_winner
from experiments.disk.experiments import read_experiment
from experiments.disk.folders import display
from experiments.disk.spec import ExperimentSpec
from experiments.show.figures import COLOURS
from experiments.show.report import report
from tests.helpers.programs import ROOT
from tests.helpers.trials import CARTPOLE
from tests.helpers.written_experiments import (
    change_rows,
    longer,
    row,
    rows,
    table,
    write_checkpoint,
    write_experiment,
    write_rows,
)


def test_the_report_says_what_the_result_files_say(store, run_results, tmp_path):
    status, output, _ = run_results("report", "pg-sweep", "trpo-sweep", "killed", "--out", "all.html")
    assert status == 0
    assert "all.html" in output
    markdown = (tmp_path / "all.md").read_text(encoding="utf-8")
    trials = table(markdown, "trial")
    assert len(trials) == 7 + 6 + 1
    for shown in trials:
        check_trial(shown, store / shown["experiment"] / shown["trial"])
    check_order(trials, store)
    (killed,) = (shown for shown in trials if shown["experiment"] == "killed")
    assert (killed["state"], killed["last"], killed["iterations"]) == ("interrupted", "-14.0", "3")
    (failed,) = (shown for shown in trials if shown["state"] == "failed")
    assert failed["trial"] == "00006_seed=9"


def check_trial(shown, folder):
    """A row of the table says what the rows of the trial say, of which the later one of an iteration counts."""
    played = {}
    for line in (folder / "result.json").read_text(encoding="utf-8").splitlines():
        if line.endswith("}"):
            played[json.loads(line)["training_iteration"]] = json.loads(line)
    last = played[max(played)]
    assert float(shown["best"]) == pytest.approx(max(row["episode_score"] for row in played.values()), abs=0.051)
    assert float(shown["last"]) == pytest.approx(last["episode_score"], abs=0.051)
    assert int(shown["steps"]) == last["timesteps_total"]
    assert int(shown["iterations"]) == last["training_iteration"]


def check_order(trials, store):
    """Seeds of a configuration stand together, the best mean of what did not fail first."""
    configurations = []
    for shown in trials:
        config = json.loads((store / shown["experiment"] / shown["trial"] / "params.json").read_text(encoding="utf-8"))
        key = shown["experiment"], config | {"seed": 0, "num_workers": 0}
        if not configurations or configurations[-1][0] != key:
            configurations.append((key, []))
        configurations[-1][1].append(shown)
    means, keys = [], [key for key, _ in configurations]
    for key, seeds in configurations:
        assert keys.count(key) == 1
        judged_by = [shown for shown in seeds if shown["state"] != "failed"] or seeds
        means.append(statistics.mean(float(shown["last"]) for shown in judged_by))
    assert means == sorted(means, reverse=True)


def test_environments_are_drawn_apart_and_it_says_what_a_step_is_in_each(tmp_path):
    trials = []
    for env_id in ("ALE/Pong-v5", "PongNoFrameskip-v4"):
        for seed in (0, 1):
            for gamma in (0.9, 0.8):
                trials.append(({"env_id": env_id, "seed": seed, "gamma": gamma}, [-9.0], None))
    longer(write_experiment(tmp_path, "both", "pg", trials), 300)
    page = report([read_experiment(tmp_path / "both")])
    for words in (
        "`ALE/Pong-v5` (an agent step is 4 frames), `PongNoFrameskip-v4` (an agent step is 1 frame)",
        "### Learner `pg` in `PongNoFrameskip-v4`",
        "no difference between them is tested",
        "- Environment: `ALE/Pong-v5, sticky actions 0.25, frame skip 4` and `PongNoFrameskip-v4, sticky",
    ):
        assert words in page.text
    for what in ("over_steps", "over_time", "effects_0"):
        assert len([name for name in page.pictures if what in name]) == 2
    assert "`env_id`" not in page.text.partition("## Effect of each setting")[2].partition("## Config")[0]


def test_diagnostics_have_a_heading_only_if_there_are_any(tmp_path):
    folder = write_experiment(tmp_path, "short", "pg", [({}, [-9.0, -8.0], None)])
    assert "## Diagnostics" not in report([read_experiment(folder)]).text
    (trial,) = folder.glob("0*")
    change_rows(trial, **{"policy/entropy": 0.5})
    assert "## Diagnostics" in report([read_experiment(folder)]).text


def test_what_a_forks_origin_had_is_no_part_of_its_cost(tmp_path):
    (trial,) = write_experiment(tmp_path, "fork", "pg", [({}, [-9.0, -8.0, -6.0], None)]).glob("0*")
    write_rows(trial, rows(trial)[1:])
    markdown = report([read_experiment(tmp_path / "fork")]).text
    (summary,), (trial,) = table(markdown, "score in training"), table(markdown, "trial")
    assert (summary["training of all trials"], summary["agent steps"]) == ("4 s", "2000")
    assert (trial["steps"], trial["time"]) == ("3000", "6 s")


def test_the_report_joins_seeds_and_says_how_sure_their_mean_is(store, run_results, tmp_path):
    run_results("report", "pg-sweep", "trpo-sweep", "--out", "seeds.html")
    markdown = (tmp_path / "seeds.md").read_text(encoding="utf-8")
    configurations = table(markdown, "configuration")
    assert [shown["learner"] for shown in configurations] == ["pg", "trpo", "trpo", "pg"]
    expected = [[-9, -3, -12], [-18, -17, -16], [-19, -19.5, -20], [-20.5, -20, -20]]
    for shown, last in zip(configurations, expected, strict=True):
        assert shown["random seeds"] == "0 1 2"
        assert float(shown["mean of last"]) == pytest.approx(statistics.mean(last), abs=0.051)
        low, high = map(float, shown["95% interval of mean"].split(" to "))
        half = 4.3027 * statistics.stdev(last) / 3**0.5  # by tables of Student's t
        ends = max(-21, statistics.mean(last) - half), min(21, statistics.mean(last) + half)
        assert (low, high) == pytest.approx(ends, abs=0.051)
    (answer,) = table(markdown, "score in training")
    low, high = map(float, answer["next seed (95%)"].split(" to "))
    reach = 4.3027 * statistics.stdev(expected[0]) * (1 + 1 / 3) ** 0.5
    assert (low, high) == pytest.approx((max(-21, -8 - reach), -8 + reach), abs=0.051)
    # By hand: the workers' steps per second are 1000 times the square root of their number.
    speed = table(markdown, "workers")
    assert [int(s["workers"]) for s in speed] == [1, 2]
    assert [float(s["speed-up"]) for s in speed] == [1.0, 1.41]
    assert [s["efficiency"] for s in speed] == ["100%", "71%"]


def test_the_html_stands_alone_and_shows_all_figures_failures_and_the_best_game(store, run_results, tmp_path):
    best = store / "pg-sweep" / "00001_seed=1"
    gif = b"GIF89a, of the best checkpoint"
    (write_checkpoint(best, "pg", 2, -12.0, evaluated=1) / "evaluation.gif").write_bytes(b"of a worse checkpoint")
    (write_checkpoint(best, "pg", 3, -3.0, evaluated=2) / "evaluation.gif").write_bytes(gif)
    write_checkpoint(best, "pg", 4, -1.0, evaluated=2)  # without a film
    with (store / "trpo-sweep" / "00000_seed=0" / "result.json").open("a") as file:
        file.write(json.dumps(row(3, -21.0, {"num_workers": 2}) | {"diverged": 1.0, "done": True}) + "\n")
    for name in ("pg-sweep", "trpo-sweep"):
        longer(store / name, 200)
    run_results("report", "pg-sweep", "trpo-sweep", "killed", "--out", "all.html")
    html = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert len(html) < 10e6
    sources = re.findall(r'src="([^"]{0,40})', html)
    assert sources
    for source in sources:
        assert source.startswith("data:image/")
    assert not re.search(r'(href|src)="(?!data:)', html)
    titles = set(re.findall(r'alt="([^"]*)"', html))
    for learner in ("pg", "trpo"):
        assert {f"{learner} over steps", f"{learner} over time", f"{learner} effects 0"} <= titles
    assert {"learners over steps", "learners over time", "pg speed"} <= titles
    markdown = (tmp_path / "all.md").read_text(encoding="utf-8")
    for picture in re.findall(r"\]\((all_figures/[^)]*)\)", markdown):
        assert (tmp_path / picture).stat().st_size > 0
    assert (tmp_path / "all_figures" / "evaluation.gif").read_bytes() == gif
    assert re.search(r"after iteration 2 of \d, actions sampled\. Ours is the green paddle, on the right\.", html)
    assert "RuntimeError: a `rollout` worker | died &lt;4&gt; times" in html
    assert "<code>00000_seed=0</code> diverged at iteration 3" in html
    assert f"python {ROOT}/experiments/sweep_pong.py --name pg-sweep" in html
    assert "sticky actions 0.25, frame skip 4" in html
    assert ExperimentSpec.read(store / "killed").origin.versions["numpy"] in html


def test_the_first_screen_is_of_the_best_with_fresh_seeds_and_says_how_to_go_on(tmp_path):
    lucky, steady = {"gamma": 0.9}, {"gamma": 0.8}
    sweep = [(lucky | {"seed": 0}, [-20.0, 5.0], None), (steady | {"seed": 0}, [-20.0, 4.0], None)]
    again = []
    for config in (lucky, steady):
        again += [(config | {"seed": 8}, [-20.0, -1.0], None), (config | {"seed": 9}, [-20.0, 0.0], None)]
    write_experiment(tmp_path, "sweep", "pg", sweep)
    record = {"confirms": "sweep", "configuration_of": [0, 0, 1, 1], "swept": ["gamma", "seed"]}
    confirm = write_experiment(tmp_path, "sweep-confirm", "pg", again, **record)
    write_checkpoint(next(confirm.glob("00001*")), "pg", 2, 0.0, 0)
    answer = report([read_experiment(tmp_path / name) for name in ("sweep", "sweep-confirm")]).text.partition("## ")[0]
    (numbers,) = table(answer, "score in training")
    assert (numbers["score in training"], numbers["its seeds"], numbers["trials"]) == ("-0.5", "2", "6")
    assert "Best configuration of 4: `g=0.9 (fresh seeds)` (pg)." in answer
    assert "so the two cannot be told apart" in answer
    assert f"watch.py {display(tmp_path / 'sweep-confirm')}`" in answer


def test_seeds_of_several_experiments_are_all_named_beside_the_score_over_them(tmp_path):
    folders = [
        write_experiment(tmp_path, name, "pg", [({"seed": seed}, [-20.0, last], None)])
        for name, seed, last in (("one", 1, -12.0), ("two", 2, -14.0))
    ]
    answer = report([read_experiment(folder) for folder in folders]).text.partition("## ")[0]
    (numbers,) = table(answer, "score in training")
    assert (numbers["score in training"], numbers["its seeds"]) == ("-13.0", "2")
    assert "returned -12.0 with seed 1, -14.0 with seed 2; their mean is -13.0 (95% interval" in answer


def test_the_best_of_two_learners_is_named_by_the_settings_in_which_its_own_learners_configurations_differ(tmp_path):
    trials = [({"gamma": gamma}, [-20, last], None) for gamma, last in ((0.98, -15.0), (0.99, -12.0))]
    folders = [write_experiment(tmp_path, learner, learner, trials) for learner in ("pg", "trpo")]
    answer = report([read_experiment(folder) for folder in folders]).text.partition("## ")[0]
    assert "Best configuration of 4: `g=0.99` (pg)." in answer


def test_of_several_halved_sweeps_each_has_its_leader_and_how_sure_that_is_once(tmp_path):
    found = []
    for name, gamma, best in (("one", 0.9, -12.0), ("two", 0.97, -5.0)):
        trials = [({"gamma": gamma}, [-20.0, best], None), ({"gamma": 0.8}, [-20.0, -19.0], None)]
        record = {"scheduler": "halving", "rungs": [1, 2], "iterations": 2, "swept": ["gamma"]}
        folder = write_experiment(tmp_path, name, "pg", trials, **record)
        write_decisions(folder, [Decision(at=1, scores=[-20.0, -20.0], kept=[0, 1])])
        found.append(read_experiment(folder))
    text = report(found).text
    assert text.count("Leader: ") == text.count("How sure: ") == 2
    answer = text.partition("## ")[0]
    assert "`two` has the best trial" in answer
    assert "returned -5.0" in answer


def test_a_film_that_is_a_link_is_not_followed(tmp_path):
    folder = write_experiment(tmp_path, "one", "pg", [({}, [-20.0], None)])
    write_winner(folder, WinnerGames(trial=0, iteration=1, games=1, metrics={}))
    (tmp_path / "secret").write_bytes(b"of the reader")
    (folder / "winner.gif").symlink_to(tmp_path / "secret")
    assert "winner.gif" not in report([read_experiment(folder)]).pictures
    (folder / "winner.gif").unlink()
    (folder / "winner.gif").write_bytes(b"GIF89a")
    assert report([read_experiment(folder)]).pictures["winner.gif"] == b"GIF89a"


def test_what_else_was_recorded_is_drawn_and_nothing_that_was_not(tmp_path):
    (trial,) = write_experiment(tmp_path, "one", "pg", [({}, [-20.0, -19.0], None)]).glob("0*")
    change_rows(trial, **{"policy/entropy": 1.0})
    pictures = report([read_experiment(tmp_path / "one")]).pictures
    assert "pg_policy_entropy.svg" in pictures
    assert "pg_policy_kl.svg" not in pictures


def test_points_and_strokes_are_drawn_of_pong_alone(tmp_path):
    for env_id, drawn in (("ALE/Pong-v5", True), ("CartPole-v1", False)):
        settings = CARTPOLE | {"env_id": env_id}
        name = env_id.rpartition("/")[2]
        (trial,) = write_experiment(tmp_path, name, "trpo", [(settings, [20.0, 21.0], None)]).glob("0*")
        change_rows(trial, **{"policy/entropy": 1.0, "steps_per_point": 1.0, "strokes_per_point": 0.0})
        pictures = report([read_experiment(tmp_path / name)]).pictures
        assert "trpo_policy_entropy.svg" in pictures
        assert ("trpo_steps_per_point.svg" in pictures, "trpo_strokes_per_point.svg" in pictures) == (drawn, drawn)


def test_a_report_says_how_long_experiments_took_by_the_clock_and_the_sum_of_their_training(tmp_path):
    """Two trials at a time, each of two iterations of 60 s; a minute from the start to the first, an hour's pause."""
    folder = write_experiment(tmp_path, "sweep", "pg", [({"seed": seed}, [-20, -19.0], None) for seed in (0, 1)])
    began = datetime.datetime.fromisoformat(ExperimentSpec.read(folder).origin.started).timestamp()
    for path in folder.glob("0*/result.json"):
        first, second = map(json.loads, path.read_text().splitlines())
        first |= {"timestamp": began + 120, "time_this_iter_s": 60.0}
        second |= {"timestamp": began + 3780, "time_this_iter_s": 60.0}
        path.write_text(json.dumps(first) + "\n" + json.dumps(second) + "\n")
    (summary,) = table(report([read_experiment(folder)]).text, "score in training")
    assert (summary["took"], summary["training of all trials"]) == ("3 min", "4 min")


def test_a_trial_whose_games_have_not_ended_has_no_score(tmp_path):
    folder = write_experiment(tmp_path, "young", "pg", [({}, [-21.0], "running"), ({"seed": 1}, [-21.0], "running")])
    for path in folder.glob("0*/result.json"):
        path.write_text(path.read_text().replace('"done"', '"episodes_total": 0, "done"'))
    text = report([read_experiment(folder)]).text
    assert "21.0" not in text
    assert "no game had ended" in text.partition("## ")[0]


def test_the_workers_of_a_trial_are_those_that_it_had_and_no_curve_is_called_by_those_it_asked_for(tmp_path):
    trials = [({"gamma": gamma, "num_workers": n}, [-20, -19.0], None) for n, gamma in ((1, 0.9), (2, 0.8))]
    folder = write_experiment(tmp_path, "lent", "pg", trials)
    path = folder / "00001_seed=0" / "result.json"
    path.write_text(path.read_text().replace('"perf/workers": 2.0', '"perf/workers": 1.0', 1))
    page = report([read_experiment(folder)])
    assert [trial["workers"] for trial in table(page.text, "trial")] == ["1", "1 to 2"]
    curves = page.pictures["pg_over_steps.svg"].decode()
    assert "<!-- g=0.9 -->" in curves
    assert "w=" not in curves


def test_curves_of_several_experiments_of_a_learner_say_which_one_they_are_of(tmp_path):
    for name, gamma in (("one", 0.9), ("two", 0.8)):
        write_experiment(tmp_path, name, "pg", [({"gamma": gamma}, [-20, -19.0], None)])
    curves = (
        report([read_experiment(tmp_path / name) for name in ("one", "two")]).pictures["pg_over_steps.svg"].decode()
    )
    assert "<!-- g=0.9, one -->" in curves
    assert "<!-- g=0.8, two -->" in curves


def test_a_learners_best_has_one_colour_in_all_figures(tmp_path):
    for learner in ("pg", "trpo"):
        write_experiment(tmp_path, learner, learner, [({}, [-20, -19.0], None)])
    pictures = report([read_experiment(tmp_path / learner) for learner in ("pg", "trpo")]).pictures
    blue, orange = (f"stroke: {colour.lower()}; " for colour in COLOURS[:2])
    for name, has_blue, has_orange in (("learners", True, True), ("pg", True, False), ("trpo", False, True)):
        curves = pictures[f"{name}_over_time.svg"].decode()
        assert (blue in curves, orange in curves) == (has_blue, has_orange), name


def test_a_report_of_experiments_without_results_says_so(tmp_path, run_results):
    write_experiment(tmp_path, "empty", "pg", [({}, [], "running")])
    (next(tmp_path.glob("empty/0*")) / "params.json").unlink()  # half-written
    status, _, complaint = run_results("report", tmp_path / "empty")
    assert (status, complaint) == (0, "")
    assert "no results yet" in (tmp_path / "empty" / "report.md").read_text(encoding="utf-8")
    assert run_results("best", tmp_path / "empty")[::2] == (2, "results.py: error: empty has no results yet\n")


def test_the_same_data_give_the_same_figures_to_the_byte(tmp_path):
    trials = [({"seed": seed, "gamma": gamma}, [-20, -17.0], None) for seed in (0, 1) for gamma in (0.8, 0.9)]
    experiment = read_experiment(write_experiment(tmp_path, "sweep", "pg", trials))
    assert report([experiment]).pictures == report([experiment]).pictures != {}


def test_settings_of_somebodys_matplotlibrc_change_no_figure(tmp_path):
    experiment = read_experiment(write_experiment(tmp_path, "run", "pg", [({}, [-20, -17.0], None)]))
    expected = report([experiment]).pictures
    foreign = {"text.usetex": True, "savefig.dpi": 30, "svg.fonttype": "none", "figure.autolayout": True}
    with mpl.rc_context(foreign | {"axes.prop_cycle": mpl.cycler(color=["red"]), "savefig.bbox": "tight"}):
        assert report([experiment]).pictures == expected
        assert mpl.rcParams["savefig.dpi"] == 30, "they are the user's own again"
