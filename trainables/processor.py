"""The same sums on every x86 processor.

OpenBLAS, with which NumPy and SciPy multiply matrices, picks kernels for the processor that it runs on, and each kind
adds in an order of its own: with one configuration and seed Intel's processors and AMD's learned different things, from
the second update on. With one kind for all they come to the same bits. Nothing else that is computed here depends on
the processor.
"""

import os
from pathlib import Path

KERNELS = "OPENBLAS_CORETYPE"
"""The variable that OpenBLAS reads when it is loaded, which is when NumPy is first imported."""

AVX2_KERNELS = "Haswell"
"""Those for AVX2, which x86 processors have since 2013 (Intel) and 2015 (AMD). Updates are as fast as with AVX-512."""


def choose_kernels() -> None:
    """Have OpenBLAS use the kernels for AVX2, where there is AVX2, and where the user has not chosen others."""
    try:
        flags = next(
            line for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if line.startswith("flags")
        )
    except (OSError, StopIteration):  # no Linux, or no x86
        return
    if {"avx2", "fma"} <= {*flags.split()}:
        os.environ.setdefault(KERNELS, AVX2_KERNELS)
