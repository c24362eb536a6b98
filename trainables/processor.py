"""The same sums on every x86 processor.

OpenBLAS, with which NumPy and SciPy multiply matrices, picks kernels for the processor that it runs on, and each kind
adds in an order of its own: with one configuration and seed Intel's processors and AMD's learned different things, from
the second update on. With one kind for all they come to the same bits. Nothing else that is computed here depends on
the processor.
"""

import os

KERNELS = "OPENBLAS_CORETYPE"
"""The variable that OpenBLAS reads when it is loaded, which is when NumPy is first imported."""

AVX2_KERNELS = "Haswell"
"""Those for AVX2, which nearly all x86 processors have that were made since 2015."""


def choose_kernels() -> None:
    """Have OpenBLAS use the kernels for AVX2, where there is AVX2, and where the user has not chosen others."""
    if KERNELS in os.environ:  # so it is in all processes that a program starts
        return
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next((line for line in file if line.startswith("flags")), "")  # of the first core: no more is read
    except OSError:  # no Linux
        return
    if {"avx2", "fma"} <= {*flags.split()}:
        os.environ[KERNELS] = AVX2_KERNELS
