"""An experiment's record says where its results come from, in a checkout, outside of one, and without git."""

import subprocess
from pathlib import Path

import pytest

from experiments.disk.provenance import Git, changes_since, git_revision, provenance, say_if_changed


@pytest.fixture
def checkout(tmp_path):
    """A repository of one commit."""
    (tmp_path / "code.py").write_text("one")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one")
    return tmp_path


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout.strip()


def test_the_revision_is_the_commits_and_dirty_once_a_tracked_file_changes(checkout):
    revision = git(checkout, "rev-parse", "HEAD")
    assert git_revision(checkout / "code.py") == Git(revision=revision, dirty=False)
    (checkout / "results.txt").write_text("not tracked")
    assert git_revision(checkout / "code.py") == Git(revision=revision, dirty=False)
    (checkout / "code.py").write_text("two")
    assert git_revision(checkout / "code.py") == Git(revision=revision, dirty=True)


def test_git_looks_where_the_code_lies_and_takes_no_lock(checkout, tmp_path, monkeypatch):
    """Whatever repository's hook started the program, and whoever commits at the same moment."""
    revision = git(checkout, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "of another one"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "of another one" / "index"))
    (checkout / ".git" / "index.lock").touch()
    index = (checkout / ".git" / "index").stat()
    (checkout / "code.py").touch()  # so that git would write down that it is unchanged
    assert git_revision(checkout / "code.py") == Git(revision=revision, dirty=False)
    assert (checkout / ".git" / "index").stat() == index


def test_there_is_no_revision_of_untracked_code_outside_of_a_checkout_or_without_git(checkout, tmp_path, monkeypatch):
    (checkout / "installed.py").touch()
    assert git_revision(checkout / "installed.py") is None
    (checkout / ".git").rename(checkout / "elsewhere")
    assert git_revision(checkout / "code.py") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_revision(checkout / "code.py") is None


def test_what_has_changed_since_is_named_and_of_the_code_its_digests_decide():
    there = provenance().model_copy(update={"git": Git(revision="0" * 40, dirty=True)})
    assert changes_since(there) == [], "another commit with the same sources, or a change elsewhere"
    without = there.model_copy(update={"sources": []})
    assert changes_since(without)[0].startswith("experiments of SHA-256 unknown (")
    changed = {
        "python": "2.7",
        "versions": there.versions | {"numpy": "1.0"},
        "sources": [there.sources[0] | {"trainables": "f" * 64}, *there.sources],
    }
    found = changes_since(there.model_copy(update=changed))
    assert [text.split()[0] for text in found if "SHA-256" in text] == ["trainables"]
    assert any(text.startswith("numpy 1.0 (") for text in found)
    assert any(text.startswith("Python 2.7 (") for text in found)
    assert any(text.startswith("git revision 000000000000 and uncommitted changes (") for text in found)


def test_that_a_learners_file_has_changed_is_said_once_when_its_experiment_goes_on(capsys):
    first, second = "a" * 64, "b" * 64
    say_if_changed(None, [], [])
    say_if_changed(Path("a2c.py"), [first], [])
    say_if_changed(Path("a2c.py"), [first], [first])
    assert capsys.readouterr().err == ""
    say_if_changed(Path("a2c.py"), [first, second], [first])
    assert "of different code (SHA-256 aaaaaaaaaaaa, then bbbbbbbbbbbb)" in capsys.readouterr().err
