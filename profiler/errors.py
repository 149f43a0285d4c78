"""The faults a user may meet: one sentence each, with the way out, and an exit code.

The CLI catches `StepprofError` once, prints its sentence to stderr and leaves
with its code; nothing else in the project prints a fault or exits.
"""


class StepprofError(Exception):
    """Base of every fault that is told to the user in one sentence."""

    exit_code = 1


class InputError(StepprofError):
    """The input or the machine is at fault; the sentence names the file and the way out."""

    exit_code = 1


class UsageError(StepprofError):
    """The command was called wrongly (an option, a name, a step that does not exist)."""

    exit_code = 2


class CheckFailed(StepprofError):
    """A gate or a check says no."""

    exit_code = 3


class Refused(StepprofError):
    """The trace cannot answer this question; the sentence says why and what would."""

    exit_code = 4
