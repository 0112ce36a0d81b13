"""`DistanceMatrix` in, `LatentGraph` out: the paper's algorithm (section 4, Algorithms 1 to 3).

``initial_graph`` joins the local minimum spanning trees, ``grouping/`` turns one neighbourhood
into a local latent tree, ``learner`` is the loop, ``regularized`` the variant with BIC.
"""
