"""The maths: NumPy and SciPy, one process, no files, no Ray.

Arrays end in their axes. The legend, once for the whole layer:

    n  steps          d  inputs of the network      k  outputs (actions or logits)
    h  hidden units   p  entries of the flat parameter vector ``theta``

So ``obs_nd`` holds n observations of d numbers each, and ``theta_p`` all parameters of a network in one row.
"""
