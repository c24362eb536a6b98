"""The file of a learner of one's own, kept beside the results that came from it."""

import hashlib
import sys
from pathlib import Path

from experiments.record.folders import display
from experiments.record.mirror import Remote
from experiments.record.provenance import sources
from experiments.record.spec import ExperimentSpec
from trainables.checks import ConfigError
from trainables.files import replacing


def with_source(spec: ExperimentSpec, source: Path | None) -> ExperimentSpec:
    """The specification with the digests of our sources and of the learner's file, if it ran with others last.

    Raises ConfigError if the file cannot be read.
    """
    ran = spec.origin.sources or [{}]
    if ran[-1] != (now := sources()):
        spec = spec.but(origin=spec.origin.model_copy(update={"sources": [*ran, now]}))
    if source is None:
        return spec
    try:
        sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"{source} cannot be read: {error.strerror}") from None
    if spec.learner_sha256[-1:] == [sha256]:
        return spec
    return spec.but(learner_sha256=[*spec.learner_sha256, sha256])


def keep_source(folder: Path, spec: ExperimentSpec, source: Path | None) -> Path | None:
    """Put a copy of the learner's file into an experiment's folder, numbered from 1; nothing ever imports it.

    Raises OSError.
    """
    if source is None:
        return None
    kept = folder / f"learner-{len(spec.learner_sha256)}.py"
    with replacing(kept) as file:
        file.write(source.read_bytes())
    return kept


def keep_changed_source(folder: Path, spec: ExperimentSpec, before: ExperimentSpec, source: Path | None) -> None:
    """Where the file is another one than before, keep it too, and say so. Raises OSError."""
    if spec.learner_sha256 == before.learner_sha256 or not (kept := keep_source(folder, spec, source)):
        return
    if home := Remote.of(folder):
        home.push(kept)
    if before.learner_sha256:
        earlier = f"learner-{len(before.learner_sha256)}.py"
        print(
            f"{source} has changed since this experiment last ran: results before and after are of different code"
            f" ({earlier} and {kept.name} in {display(folder)})",
            file=sys.stderr,
        )
