"""Predictions over HTTP: a form, a documented interface and limits, all made from the model file itself.

Starlette and uvicorn are needed (``pip install 'tilth[serve]'``); nothing here imports them before they are used.
"""

from tilth.serve.limits import Limits
from tilth.serve.server import serve

__all__ = ["Limits", "serve"]
