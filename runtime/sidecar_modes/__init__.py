"""The modes of the sidecar; `make_sidecar` builds the one that the options name."""

from stepprof.runtime.sidecar_modes.make import make_sidecar

__all__ = ["make_sidecar"]
