"""Two programs never write one experiment."""

import pytest

from experiments.record.lock import exclusive, is_held
from trainables.checks import ConfigError


def test_a_second_program_is_refused_while_the_first_runs_and_let_in_afterwards(tmp_path):
    with exclusive(tmp_path):
        assert is_held(tmp_path)
        with pytest.raises(ConfigError, match="in use by another program"), exclusive(tmp_path):
            pass
    assert not is_held(tmp_path)
