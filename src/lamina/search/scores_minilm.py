"""How much each measure counts for how likely a hit answers: for texts, and for facts.

Fitted with vectors of minilm; written by `scripts/fit_scores.py`.
"""

WEIGHTS = {
    "always": (-3.8573, -4.3960),
    "sum": (0.5493, 0.4141),
    "meaning": (1.8545, 13.3026),
    "words": (2.6049, 1.9757),
    "around": (-0.4787, 1.9757),
    "exact": (-0.5490, -2.6048),
    "best_meaning": (3.2624, 0.6400),
    "best_words": (0.1853, 0.8631),
    "behind": (2.9755, 1.0465),
    "ahead": (1.3400, 1.0959),
    "steep": (0.3969, -1.2927),
    "terms": (0.2459, -0.7113),
    "length": (-2.6885, -3.2266),
    "rows": (-1.2160, 1.0853),
}
