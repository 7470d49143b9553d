"""Run the benchmarks that need label data sets: `python -m benchmarks --data DIRECTORY`."""

from benchmarks.baselines import main

if __name__ == "__main__":
    main()
