"""Whatever keys a bucket has, they end in the mirror, or in one line."""

import contextlib

import pytest

from experiments.ask.flags import RunFlags
from experiments.disk import mirror
from tests.helpers.foreign_experiments import watched
from tests.helpers.surroundings import put, s3_server
from trainables.checks import ConfigError

pytestmark = [pytest.mark.ray, pytest.mark.slow]  # starts a server, and runs for seconds

KEYS = {
    "upwards": ["../evil.txt", "../checkpoint_000000/evil.txt", "00000_x/checkpoint_000000/../../../../evil.txt"],
    "from the root": ["/../../../evil.txt", "/evil.txt"],
    "through a link that is here": ["00000_linked/evil.txt", "00000_linked/checkpoint_000000/evil.txt"],
}


@pytest.fixture(scope="module")
def s3():
    with s3_server() as server:
        yield server


@pytest.mark.parametrize("where", KEYS)
def test_no_key_of_a_bucket_is_written_outside_of_the_mirror(where, s3, tmp_path, monkeypatch):
    uri, client = s3
    mirrored = tmp_path / "work" / "results" / "x"
    mirrored.mkdir(parents=True)
    if "link" in where:
        (mirrored / "00000_linked").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path / "work")
    for old in client.list_objects_v2(Bucket="bucket").get("Contents", []):
        client.delete_object(Bucket="bucket", Key=old["Key"])
    put(client, "deep/pong/x/experiment.json", b'{"learner": "pg"}')
    put(client, "deep/pong/x/00000_x/result.json", b"{}")
    for key in KEYS[where]:
        put(client, f"deep/pong/x/{key}", b"evil")
    with watched(tmp_path / "work" / "results") as found, contextlib.suppress(ConfigError):
        mirror.find(RunFlags(storage_path=uri), "x", "pg")
    assert not found
    assert [path.name for path in tmp_path.iterdir()] == ["work"]
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["results"]
    assert [path.name for path in (tmp_path / "work" / "results").iterdir()] == ["x"]
