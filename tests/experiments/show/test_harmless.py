"""Texts from an experiment's files in reports and in the terminal: shown, never obeyed."""

import ast
import json
import re
from pathlib import Path

import pytest

import experiments
from experiments.disk.folders import RECORD
from experiments.show.page import to_html
from experiments.show.text import block, code
from tests.helpers.trials import edited_state
from tests.helpers.written_experiments import write_checkpoint, write_experiment

IMG = "<img src=x onerror=alert(1)>"
EVIL = [
    IMG,
    "[x](javascript:alert(1))",
    "![x](http://elsewhere/y.png)",
    "<script>",
    "`",
    "a\r\n# b",
    "&lt;b&gt;",
    "http://x/",
]
DOORS = {"experiments/show/text.py", "experiments/show/summary.py"}


@pytest.fixture
def evil(tmp_path):
    """A sweep and its confirmation, whose every text is evil."""
    for name, extra in (("sweep", {}), ("again", {"confirms": "sweep"})):
        trials = [({"gamma": gamma}, [-20, -19], "running") for gamma in (0.9, 0.8)]
        folder = write_experiment(tmp_path, name, "pg", trials, **extra)
        record = json.loads((folder / RECORD).read_text())
        origin = {"git": {"revision": IMG, "dirty": True}, "started": IMG, "platform": IMG, "python": IMG}
        origin |= {"versions": {IMG: EVIL[1], EVIL[2]: "$x^{$"}}
        texts = {"origin": origin, "command": [IMG, *EVIL, 'src="{figures}/x"', "{body}"]}
        (folder / RECORD).write_text(json.dumps(record | texts))
        for index, trial in enumerate(sorted(folder.glob("0*"))):
            params = json.loads((trial / "params.json").read_text())
            strange = {EVIL[1]: EVIL[index], "$x^{$": f"$x^{{{index}$", IMG: f"{IMG}{index}"}
            (trial / "params.json").write_text(json.dumps(params | strange))
            (trial / "error.txt").write_text("\n".join(EVIL) + f"\n{IMG} ``` \x1b]52;c;aGk=\x07")
        checkpoint = write_checkpoint(trial, "pg", 2, -19.0, evaluated=2)
        with edited_state(checkpoint) as state:
            state["versions"] = {IMG: IMG}
        (checkpoint / "evaluation.gif").write_bytes(b"GIF")
    return tmp_path


def test_no_text_of_an_experiment_reaches_a_report_as_html(evil, run_results):
    status, _, complaint = run_results("report", "sweep", "again", "--storage-path", evil, "--out", evil / "page.html")
    assert (status, complaint) == (0, "")
    html, markdown = ((evil / f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "md"))
    tags = {tag.lower() for tag in re.findall(r"<(\w+)", html.partition("<body>")[2])}
    assert tags <= set(re.findall(r"\w+", "h1 h2 h3 p div table thead tbody tr th td code pre img ul li em strong"))
    assert "onerror" not in re.sub(r"<code[^>]*>.*?</code>|<title>.*?</title>", "", html, flags=re.DOTALL)
    assert not re.search(r'(href|src)="(?!data:image/)', re.sub(r"<code[^>]*>.*?</code>", "", html, flags=re.DOTALL))
    assert "&lt;img src=x onerror" in html, "it is shown"
    outside_of_code = re.sub(r"```text\n.*?```|`[^`\n]*`", "", markdown, flags=re.DOTALL)
    assert "<" not in outside_of_code
    assert "javascript" not in outside_of_code
    assert "\x1b" not in html + markdown


def test_no_text_reaches_a_comparison_as_html_or_a_table_as_orders_to_the_terminal(evil, run_results):
    where = ["--storage-path", evil]
    status, output, complaint = run_results("compare", "sweep", "again", *where, "--out", evil / "page.html")
    assert (status, complaint) == (0, "")
    html = (evil / "page.html").read_text(encoding="utf-8").partition("<body>")[2]
    assert "onerror" not in re.sub(r"<code[^>]*>.*?</code>", "", html, flags=re.DOTALL)
    assert not re.search(r'(href|src)="(?!data:image/)', re.sub(r"<code[^>]*>.*?</code>", "", html, flags=re.DOTALL))
    assert "&lt;img src=x onerror" in html, "it is shown"
    for what in ([], ["--rows"], ["--format", "json"]):
        status, printed, complaint = run_results("table", "sweep", *what, *where)
        assert (status, complaint) == (0, "")
        output += printed
    assert output.replace("\n", "").isprintable()


def test_a_pages_own_text_brings_no_html_and_no_links_either():
    class Page:
        text, pictures = "# Title\n\n" + "\n\n".join(EVIL) + "\n\n<div>\n" + code(IMG) + "\n\n" + block(IMG), {}

    html = to_html(Page()).partition("<body>")[2]
    assert "<div>" not in html
    assert not re.search("<(img|script|a)", html)


def test_control_sequences_do_not_reach_the_terminal(tmp_path, run_results, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clipboard = "\x1b]52;c;aGk=\x07"
    write_experiment(tmp_path, "one", "pg", [({}, [-20], "running")], command=["sweep_pong.py", clipboard])
    record = write_experiment(tmp_path, "two", "pg", [({}, [-20], "running")]) / RECORD
    record.write_text(json.dumps(json.loads(record.read_text()) | {"learner": clipboard}))
    (write_experiment(tmp_path, "three", "pg", [({}, [-20], "x")]) / "00000_seed=0" / "error.txt").write_text(clipboard)
    write_experiment(tmp_path, "four", "pg", [({}, [-20], "running")]).rename(tmp_path / f"four{clipboard}")
    status, output, complaint = run_results("list", "--storage-path", tmp_path)
    assert (status, complaint) == (0, "")
    assert output.replace("\n", "").isprintable()
    assert re.findall(r"^(\w+)\S* +damaged", output, re.MULTILINE) == ["four", "two"]
    for argv in (["report", f"four{clipboard}"], ["best", "two"], ["report", f"x{clipboard}"]):
        status, _, complaint = run_results(*argv, "--storage-path", tmp_path)
        assert status == 2
        assert complaint.replace("\n", "").isprintable()


@pytest.mark.parametrize("path", ["show", "results.py", "watch.py"])
def test_no_text_goes_to_the_terminal_but_through_its_door(path):
    """What prints does so by ``line``, ``print_table`` or ``printable``."""
    root = Path(experiments.__file__).parent
    for source in [*(root / path).glob("*.py"), root / path]:
        if source.suffix != ".py" or f"experiments/{source.relative_to(root)}" in DOORS:
            continue
        tree = ast.parse(source.read_text(encoding="utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        bare = [node.lineno for node in calls if node.func.id == "print"]
        allowed = 1 if source.name == "results.py" else 0  # JSON, in which all that is not ASCII is written as digits
        assert len(bare) <= allowed, f"{source}: {bare}"
