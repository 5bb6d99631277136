"""How much each measure counts for how likely a hit answers: for texts, and for facts.

Fitted with vectors of static; written by `scripts/fit_scores.py`.
"""

WEIGHTS = {
    "always": (-5.2292, -2.9017),
    "sum": (0.8887, 0.4674),
    "meaning": (2.9183, 12.6889),
    "words": (1.2446, 3.6450),
    "around": (-0.4222, 3.6450),
    "exact": (-0.1916, -4.3423),
    "best_meaning": (1.6781, -2.2548),
    "best_words": (0.7065, -1.0450),
    "behind": (2.3245, -0.6581),
    "ahead": (1.2869, 1.1647),
    "steep": (0.5350, -1.4992),
    "terms": (0.1593, -1.3444),
    "length": (-1.6680, -1.2313),
    "rows": (-0.8803, 1.2322),
}
