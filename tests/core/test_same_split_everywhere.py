"""A seed fixes the split, bit for bit: whatever the CPU can do, whatever the number of threads."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest
import same_splits

# Names before and since glibc 2.33; unknown ones are passed over.
LIBM = ("AVX", "AVX2", "AVX_Usable", "AVX2_Usable", "FMA", "FMA_Usable", "FMA4", "FMA4_Usable", "AVX512F")


@pytest.fixture(autouse=True, scope="module")
def search_length():
    """Let searches have all their work, as in the processes that they are compared with."""


def plain_cpu() -> dict[str, str]:
    """Return the variables that make numba, numpy, BLAS and the C library use none of this CPU's extensions."""
    try:
        from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    except ImportError:  # numpy 1
        from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    extensions = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    return {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NPY_DISABLE_CPU_FEATURES": " ".join(extensions),
        "OPENBLAS_CORETYPE": "ARMV8" if platform.machine() in ("aarch64", "arm64") else "Prescott",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in LIBM),
    }


def on_a_plain_cpu(*options: str) -> dict[str, str]:
    """Make the splits in a process of their own that uses none of this CPU's extensions, and give their hashes."""
    done = subprocess.run(
        [sys.executable, same_splits.__file__, *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **plain_cpu()},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_two_threads_give_the_splits_that_are_kept():
    """With all that this CPU can do, and two threads, the splits are those whose hashes are kept."""
    assert same_splits.hashes(n_jobs=2) == same_splits.kept()


def test_a_plain_cpu_gives_the_splits_that_are_kept():
    """Without vector instructions and fused operations, and with one thread, the splits are the same."""
    assert on_a_plain_cpu() == same_splits.kept()


def test_the_papers_methods_depend_on_versions_only():
    """With the same numpy and pymoo, neither threads nor the CPU change what the paper's methods find."""
    assert on_a_plain_cpu("--paper") == same_splits.hashes(2, same_splits.PAPER_CASES)


def test_every_problem_has_a_hash_of_its_own():
    """No two splits are the same, so that none hides behind another."""
    assert len(set(same_splits.kept().values())) == len(same_splits.CASES)
