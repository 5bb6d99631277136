"""How much each measure counts for how likely a hit answers: for texts, and for facts.

Fitted without vectors; written by `scripts/fit_scores.py`.
"""

WEIGHTS = {
    "always": (-4.8054, -0.2203),
    "sum": (0.8787, 0.4310),
    "meaning": (0.0000, 0.0000),
    "words": (3.2112, 6.2670),
    "around": (0.0590, 6.2670),
    "exact": (-0.3886, -5.0452),
    "best_meaning": (0.0000, 0.0000),
    "best_words": (0.9224, -3.2880),
    "behind": (2.9573, -1.4920),
    "ahead": (1.7201, 2.0610),
    "steep": (0.7397, -1.5872),
    "terms": (1.0679, -0.5033),
    "length": (-2.6003, -4.4828),
    "rows": (-0.9188, 0.7799),
}
