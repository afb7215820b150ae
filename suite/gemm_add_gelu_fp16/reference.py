import math

import numpy as np


def reference(a_ptr, b_ptr, d_ptr, **_):
    v = a_ptr @ b_ptr + d_ptr
    return {"c_ptr": 0.5 * v * (1 + np.vectorize(math.erf)(v / math.sqrt(2)))}
