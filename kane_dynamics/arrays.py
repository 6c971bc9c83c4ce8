"""What is meant by an array, in every room."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
