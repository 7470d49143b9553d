"""Settings for the tests of the engine."""

from hypothesis import settings

# The first example compiles the kernels, so a deadline per example would fail at random.
settings.register_profile("evosplit", deadline=None)
settings.load_profile("evosplit")
