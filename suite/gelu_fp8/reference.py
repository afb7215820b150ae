import math

import numpy as np


def reference(x_ptr, **_):
    x = x_ptr
    return {"out_ptr": 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))}
