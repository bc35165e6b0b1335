"""Pictures: the one package that imports matplotlib, and only when something is drawn."""

from tilth.plot.boundary import Regions, boundary, regions

__all__ = ["Regions", "boundary", "regions"]
