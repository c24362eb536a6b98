"""The file of a learner of one's own, kept beside the results that came from it."""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.record.folders import display
from experiments.record.provenance import sources
from experiments.record.spec import ExperimentSpec
from trainables.checks import ConfigError
from trainables.files import replacing


def with_source(spec: ExperimentSpec, source: Path | None) -> ExperimentSpec:
    """The specification with the digests of our sources and the learner's file, if others ran. Raises ConfigError."""
    ran = spec.origin.sources or [{}]
    if ran[-1] != (now := sources()):
        spec = spec.but(origin=spec.origin.model_copy(update={"sources": [*ran, now]}))
    try:
        ran_with = [hashlib.sha256(source.read_bytes()).hexdigest()] if source else spec.learner_sha256[-1:]
    except OSError as error:
        raise ConfigError(f"{source} cannot be read: {error.strerror}") from None
    return spec if spec.learner_sha256[-1:] == ran_with else spec.but(learner_sha256=spec.learner_sha256 + ran_with)


def keep_source(folder: Path, spec: ExperimentSpec, source: Path | None, before: Sequence[str] = ()) -> None:
    """Put a copy of the learner's file into an experiment's folder, numbered from 1; nothing ever imports it.

    Not if it is the last of those that it ran with ``before``; else it says so. Raises OSError.
    """
    if not source or spec.learner_sha256 == [*before]:
        return
    kept = folder / f"learner-{len(spec.learner_sha256)}.py"
    with replacing(kept) as file:
        file.write(source.read_bytes())
    if before:
        print(
            f"{source} has changed since this experiment last ran: results before and after are of different code"
            f" (learner-{len(before)}.py and {kept.name} in {display(folder)})",
            file=sys.stderr,
        )
