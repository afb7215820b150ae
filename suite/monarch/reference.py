import numpy as np
from suite_numpy import to_bf16


def reference(x_ptr, w1_ptr, w2_ptr, **_):
    z = to_bf16(np.einsum("nkp,klrp->nklr", x_ptr, w1_ptr))
    return {"y_ptr": np.einsum("nklr,lskr->nls", z, w2_ptr)}
