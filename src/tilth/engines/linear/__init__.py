"""The linear engine: loss x penalty x solver, for every model that scores with w.x."""
