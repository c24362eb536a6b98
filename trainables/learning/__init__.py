"""The maths: NumPy, SciPy and compiled loops; one process, no files, no Ray.

Arrays end in their axes. The legend, once for the whole layer:

    n, m  steps (all, and some)      d, c  inputs of the network (all, and the active ones)
    b     steps of a block           u     distinct inputs
    h     hidden units               k     outputs (actions or logits)
    g     games                      t     steps of a game
    p     entries of the flat parameter vector ``theta``

So ``obs_nd`` holds n observations of d numbers each, and ``theta_p`` all parameters of a network in one row.
"""
