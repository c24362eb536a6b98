"""What a file of JSON may say, and how it is checked when it is read."""

import functools
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter, ValidationError

from trainables.checks import ConfigError
from trainables.texts import MAX_JSON_BYTES, parse_json, printable, read_text

Count = Annotated[int, Field(ge=0)]
"""A whole number that counts something, from 0."""

Settings = dict[str, str | int | FiniteFloat | bool | None]
"""A trial's settings as JSON holds them; a tuple, such as the sizes of layers, is a text there."""


class Model(BaseModel):
    """What a file of JSON says: entries of exactly the declared types, no others, and all numbers finite."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


def read_model(path: Path, kind: Any) -> Any:
    """What a file says, of the type ``kind``. Raises ConfigError, in one line, if it is damaged, or cannot be read."""
    try:
        content = parse_json(read_text(path, MAX_JSON_BYTES))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise ConfigError(f"{path} is damaged: it is not valid JSON") from None
    try:
        return _checks_of(kind).validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        if first["loc"]:  # else it is about several entries, which the message names
            message = f"{'.'.join(map(str, first['loc']))}={str(first['input'])[:60]!r}: {message}"
        raise ConfigError(f"{path} is damaged: {printable(message)}") from None


@functools.cache
def _checks_of(kind: Any) -> TypeAdapter[Any]:
    """The validator of a type. Each is made once: making it takes longer than checking a trial's settings with it."""
    return TypeAdapter(kind)
