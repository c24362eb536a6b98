"""Numbers as people write and say them."""

from typing import Any


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them: ``40 s``, ``25 min``, ``3.5 h``, ``4 days``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.0f} days"


def short(value: Any) -> str:
    """A setting in three significant digits, fit for a folder name: ``2e-3``, ``0.98``, ``64-64``."""
    if isinstance(value, float):
        if 1e-2 <= abs(value) < 1e4:
            return f"{value:.3g}"
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return str(value)
