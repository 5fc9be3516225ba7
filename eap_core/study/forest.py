"""scikit-learn's random forest, tree for tree, without what its estimators do around each tree.

A study fits some hundred thousand forests of a hundred small trees. Growing such a tree takes a
fraction of a millisecond, and the checks around it several times as long; so the trees are grown
by the same builder from the same seeds directly. Its predictions are those of
``RandomForestClassifier(random_state=seed)``, which a test holds it to.
"""

from __future__ import annotations

import numpy as np
from sklearn.tree._criterion import Gini
from sklearn.tree._splitter import BestSplitter
from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

from eap_core.table import Floats, Labels

TREES = 100
_CLASSES = np.array([2], dtype=np.intp)
_NO_LIMIT = np.iinfo(np.int32).max


def forest_labels(rows: Floats, labels: Labels, wanted: Floats, seed: int) -> Labels:
    """The labels that a forest learned from rows and labels, both 0 and 1 among them, predicts."""
    x = np.asfortranarray(rows, dtype=np.float32)  # a split looks at one column
    y = np.ascontiguousarray(labels[:, None], dtype=np.float64)
    asked = np.ascontiguousarray(wanted, dtype=np.float32)
    columns = max(1, int(np.sqrt(x.shape[1])))
    shares = np.zeros((len(asked), 2))
    # Seeded anew for each tree: making a generator takes sixty times as long.
    rng = np.random.RandomState(seed)
    for tree_seed in rng.randint(_NO_LIMIT, size=TREES):
        rng.seed(tree_seed)
        drawn = rng.randint(0, len(x), len(x))
        weights = np.bincount(drawn, minlength=len(x)).astype(np.float64)
        rng.seed(tree_seed)
        splitter = BestSplitter(Gini(1, _CLASSES), columns, 1, 0.0, rng, None)
        tree = Tree(x.shape[1], _CLASSES, 1)
        DepthFirstTreeBuilder(splitter, 2, 1, 0.0, _NO_LIMIT, 0.0).build(tree, x, y, weights, None)
        shares += tree.predict(asked)
    return np.asarray(shares[:, 1] > shares[:, 0], dtype=np.int8)
