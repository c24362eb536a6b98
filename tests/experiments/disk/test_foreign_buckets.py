"""Fuzzing of mirrors: whatever keys and contents a bucket has, they end in the mirror, or in one line."""

import contextlib
import os
import shutil

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from experiments.ask.flags import RunFlags
from experiments.disk import mirror
from tests.helpers.foreign_experiments import NAMES, NASTY, watched
from tests.helpers.surroundings import put, s3_server
from trainables.checks import ConfigError

pytestmark = [pytest.mark.ray, pytest.mark.slow]  # starts a server, and runs for seconds

STEPS = [*("..", ".", "", "00000_x", "checkpoint_000000", "\\..", "a\x1b[31m", ".incoming", ".lock", "%2e%2e"), *NAMES]
PARTS = st.one_of(st.sampled_from([step for step in STEPS + NASTY if len(step) < 50]), st.text(max_size=5))
KEYS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
EXAMPLES = int(os.environ.get("FUZZ_BUCKETS", "10"))


@pytest.fixture(scope="module")
def s3():
    with s3_server() as server:
        yield server


def test_a_bucket_with_any_keys_is_fetched_into_its_mirror_or_refused(s3, tmp_path, monkeypatch):
    uri, client = s3
    (tmp_path / "work" / "results").mkdir(parents=True)
    (tmp_path / "precious").write_text("precious")
    monkeypatch.chdir(tmp_path / "work")

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=EXAMPLES == 10,
        suppress_health_check=[*HealthCheck],
    )
    @example([("../../evil.txt", b"evil"), ("00000_x/checkpoint_000000/../../../../evil.txt", b"evil")], False)
    @example([("/../../../evil.txt", b"evil"), ("00000_x/..\\evil.txt", b"evil")], True)
    @given(st.lists(st.tuples(KEYS, st.binary(max_size=20)), max_size=5), st.booleans())
    def fetch(keys, linked):
        shutil.rmtree(tmp_path / "work" / "results")
        (tmp_path / "work" / "results" / "x").mkdir(parents=True)
        if linked:
            (tmp_path / "work" / "results" / "x" / "00000_x").symlink_to(tmp_path)
        for old in client.list_objects_v2(Bucket="bucket").get("Contents", []):
            client.delete_object(Bucket="bucket", Key=old["Key"])
        for key, body in [("experiment.json", b'{"learner": "pg"}'), ("00000_x/result.json", b"{}"), *keys]:
            with contextlib.suppress(Exception):  # no key at all
                put(client, f"deep/pong/x/{key}", body)
        with watched(tmp_path / "work" / "results") as found, contextlib.suppress(ConfigError):
            mirror.find(RunFlags(storage_path=uri), "x", "pg")
        assert not found
        assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "work"]
        assert [path.name for path in (tmp_path / "work").iterdir()] == ["results"]
        assert [path.name for path in (tmp_path / "work" / "results").iterdir()] == ["x"]

    fetch()
