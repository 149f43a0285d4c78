"""The faults a user may meet: one sentence each, with the way out. `__main__` prints them and leaves."""


class RuntimeFault(Exception):
    """The input, the machine or the sidecar is at fault."""

    exit_code = 1


class ConfigError(RuntimeFault):
    """A preset, a switch or a combination of them does not make sense."""

    exit_code = 2


class WeightsError(RuntimeFault):
    """A weight is missing or has another shape than the model."""


class RequestError(RuntimeFault):
    """A request cannot be served: too long, empty, no free slot."""


class SidecarError(RuntimeFault):
    """The sidecar died, stalled or answered wrongly; the step's tokens were thrown away."""
