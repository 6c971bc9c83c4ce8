"""What can go wrong, as exceptions of this package.

Every message is one sentence that names the file, the link, the joint or the argument at fault,
and what was expected instead.
"""


class KaneDynamicsError(Exception):
    """Base of all errors raised by this package."""


class ModelError(KaneDynamicsError, ValueError):
    """A robot description that cannot be read, or that describes no robot."""


class ArgumentError(KaneDynamicsError, ValueError):
    """An argument of wrong name, shape, type or value."""


class SingularError(KaneDynamicsError, ArithmeticError):
    """Equations of motion without a unique solution."""


class CompileError(KaneDynamicsError, RuntimeError):
    """Generated code that the machine's C compiler did not accept."""
