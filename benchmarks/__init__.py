"""Speed, memory and answers of tilth beside other libraries: ``python -m benchmarks``."""
