"""Cross-validate with folds that all have every label, and see how much calmer the scores are.

Needs `pip install "evosplit-plugins[sklearn]"`.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import KFold, cross_val_score

from evosplit_plugins.sklearn_cv import EvoSplitKFold

# Rare labels make the difference: keep one positive in eight of the later ones.
X, y = make_multilabel_classification(n_samples=600, n_classes=12, n_labels=3, random_state=0)
rng = np.random.default_rng(0)
y[:, 6:] &= rng.random((600, 6)) < 0.125

print(f"{'folds':16}{'labels missing':>15}{'mean F1':>10}{'deviation':>11}")
for name, cv in {
    "KFold": KFold(10, shuffle=True, random_state=0),
    "EvoSplitKFold": EvoSplitKFold(10, random_state=0),
}.items():
    missing = sum(int((y[test].sum(axis=0) == 0).sum()) for _, test in cv.split(X, y))
    scores = cross_val_score(RidgeClassifier(), X, y, cv=cv, scoring="f1_micro")
    print(f"{name:16}{missing:>15}{scores.mean():>10.3f}{scores.std():>11.3f}")
