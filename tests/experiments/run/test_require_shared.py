"""Whether a storage path is the same folder for all nodes is tried out, and nothing of the trial stays."""

import pytest

from experiments.run import cluster
from trainables.checks import ConfigError


def test_a_node_that_does_not_answer_leaves_no_file_behind(tmp_path, monkeypatch):
    def no_answer(probe, *args):
        raise ConfigError("node 10.0.0.7 has not answered")

    monkeypatch.setattr(cluster, "_on_every_node", no_answer)
    with pytest.raises(ConfigError, match="has not answered"):
        cluster.require_shared(str(tmp_path))
    assert not [*tmp_path.iterdir()]
