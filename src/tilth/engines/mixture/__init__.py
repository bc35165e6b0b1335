"""The mixture engine: products of per-kind distributions, by class or by component."""
