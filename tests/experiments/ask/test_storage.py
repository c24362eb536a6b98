"""URIs of storages: what they may say."""

import pytest

from experiments.ask.flags import RunFlags
from experiments.ask.storage import is_uri, locate
from trainables.checks import ConfigError


@pytest.mark.parametrize(
    "uri",
    [
        "s3://mine:hidden@bucket/dir",
        "s3://mine@bucket/dir",
        "s3://bucket/dir?region=us-east-1&secret_key=hidden",
        "s3://bucket/dir?session_TOKEN=hidden",
        "gs://user:hidden@bucket/dir",
    ],
)
def test_a_uri_with_credentials_is_refused_without_repeating_them(uri):
    """It would be written into experiment.json and reports."""
    with pytest.raises(ConfigError, match="belong into the environment") as refused:
        RunFlags(storage_path=uri)
    assert "hidden" not in str(refused.value)
    assert "mine" not in str(refused.value)


def test_a_uri_without_credentials_is_a_place():
    for uri in ("gs://anonymous@bucket/dir", "s3://bucket/dir?region=us-east-1&scheme=http", "file:///a%23b"):
        assert locate(uri)[1].startswith(("bucket/dir", "/a#b"))
        assert is_uri(uri)


@pytest.mark.parametrize("uri", ["file:///tmp/a#b", "s3://[bucket/dir", "nonsense:///x"])
def test_a_uri_that_says_something_else_than_a_place_is_refused_in_one_line(uri):
    with pytest.raises(ConfigError) as refused:
        locate(uri)
    assert "\n" not in str(refused.value)
