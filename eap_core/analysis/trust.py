"""The rehearsal: how right a score is on the data at hand, before anybody relies on it.

The paper's experiment on a user's own rows. The real anomalies are left out in turn and pose as
candidates, beside normals that are left out, too, and rows that cannot be real; a score is good
here if it puts the real ones above both. With f(a) the fold in which the real anomaly a is left
out, N_f and I_f the left-out normals and the impossible rows of a fold, and ties counted half,

    share(a) = |{x in N_f(a) : φ(x) < φ(a)}| / |N_f(a)|,   AUC = mean of share(a) over all a

and the same with I. Scores of different folds are never compared. Rows that cannot be real are
made of the fold's training rows, in equal parts: columns permuted, normals with noise of three
standard deviations, and uniform in a box a quarter wider than the normals' on each side.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from eap_core.analysis.score import column_name, eap_columns, evaluator_names, score_columns
from eap_core.base.errors import DataError, SettingsError, quote
from eap_core.base.problem import Problem
from eap_core.base.progress import Progress, equal_parts, silent
from eap_core.base.table import Bools, Floats, Ints
from eap_core.evaluators import EVALUATORS
from eap_core.scoring.distances import MEMORY_BUDGET
from eap_core.scoring.posterior import (
    INDISTINGUISHABLE,
    LINE,
    REALISTIC,
    UNREALISTIC,
    Prior,
    category_of,
)
from eap_core.scoring.settings import Settings
from eap_core.scoring.workbench import Workbench

Lines = Literal["data", "paper"]  # what draws the lines between categories
REHEARSED = ("eap", "reach", "near_real")
FEW = 4  # real anomalies: with fewer, chance decides
FEW_NORMALS = 20  # of those left out: with fewer, "above 90 % of them" says little
HIGH = 0.9  # above this share of unseen normals, a real anomaly counts as found
LEVEL = 0.9  # of every interval
NORMALS_ERROR = 0.1  # of unseen normals that look anomalous: what the line of looks is set by
FAR_ERROR = 0.1  # of real anomalies that are too far: what the line of support is set by

_FOLDS = 5
_MOST_NORMALS = 750  # 150 are left out of each fold, and of more than 600 one learns little more
_SUBSETS = 25
_LEAST_OF_A_KIND = 10  # impossible rows: they cost next to nothing
_NOISE = 3.0  # standard deviations
_WIDER = 0.25  # of the box's own width, on each side
_MORE, _MORE_SHARE = 2, 0.1  # real anomalies that a better score must find beyond another

# The columns that say how anomalous a row looks, and how far the data reach.
JUDGED_BY: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"eap": ("p_y", "covered"), "reach": ("reach_p", "reach_observations")}
)
_NOT_FAR = 0.05  # of the training rows: what so many reach is not too far, whatever others do
# Below it a row is too far where no data draw the line: half of the passes, one training row.
FIXED_SUPPORT: Mapping[str, float] = MappingProxyType({"eap": LINE, "reach": 1.0})


@dataclass(frozen=True)
class Estimate:
    """A figure with its 90 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class LeftOut:
    """A real anomaly that posed as a candidate, and the shares of its fold that it ranks above."""

    id: str
    above_normals: float
    above_impossible: float


@dataclass(frozen=True)
class CategoryLines:
    """Below ``support`` a row is too far, else below ``looks`` it looks normal; and what comes of
    it: the share of unseen normals called realistic, of real anomalies called "looks normal" and
    "too far", of impossible rows called realistic."""

    looks: float
    support: float
    normals_realistic: float
    real_normal: float
    real_far: float
    impossible_realistic: float


@dataclass(frozen=True)
class Trial:
    """How one evaluator did.

    Attributes
    ----------
    real : the left-out real anomalies, fold by fold.
    above_normals, above_impossible : the AUC of real anomalies against either.
    quality : the mean of these two, as the paper's AUC_qlt counts both alike.
    lines : category lines with a stated error: at most a tenth of the unseen normals look
        anomalous, at most a tenth of the real anomalies are too far. None without categories.
    fixed : the same figures for the lines that no data are needed for: the paper's own for EAP.
    """

    name: str
    real: tuple[LeftOut, ...]
    above_normals: Estimate
    above_impossible: Estimate
    quality: Estimate
    lines: CategoryLines | None = None
    fixed: CategoryLines | None = None

    @property
    def found(self) -> int:
        """How many real anomalies rank above 90 % of the unseen normals."""
        return sum(each.above_normals >= HIGH - 1e-9 for each in self.real)

    @property
    def found_share(self) -> Estimate:
        """Their share, with the interval of Clopper and Pearson."""
        from scipy.special import betaincinv  # slow to import

        k, m, tail = self.found, len(self.real), (1 - LEVEL) / 2
        low = float(betaincinv(k, m - k + 1, tail)) if k else 0.0
        high = float(betaincinv(k + 1, m - k, 1 - tail)) if k < m else 1.0
        return Estimate(k / m, low, high)

    @property
    def record(self) -> dict[str, Any]:
        return {**asdict(self), "found": self.found}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Trial:
        normals, impossible, quality = (
            Estimate(**record[name]) for name in ("above_normals", "above_impossible", "quality")
        )
        lines, fixed = (
            None if record[name] is None else CategoryLines(**record[name])
            for name in ("lines", "fixed")
        )
        real = tuple(LeftOut(**each) for each in record["real"])
        return cls(str(record["name"]), real, normals, impossible, quality, lines, fixed)


@dataclass(frozen=True)
class Rehearsal:
    """What was left out in all folds together, and how each evaluator did."""

    m: int
    normals: int
    impossible: int
    folds: int
    seed: int
    trials: tuple[Trial, ...]

    @property
    def weak(self) -> bool:
        """Whether there is too little to go by."""
        return self.m < FEW or self.normals < FEW_NORMALS

    def trial(self, name: str) -> Trial:
        for each in self.trials:
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.trials)
        raise SettingsError(f"{quote(name)} was not rehearsed", advice=f"choose from {known}")

    def lines_of(self, name: str, how: Lines = "paper") -> CategoryLines | None:
        """The lines by which categories are called; a weak rehearsal is nothing to draw them by."""
        trial = self.trial(name)
        return trial.lines if how == "data" and not self.weak else trial.fixed

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.trials)

    @property
    def record(self) -> dict[str, Any]:
        trials = [each.record for each in self.trials]
        return {**asdict(replace(self, trials=())), "weak": self.weak, "trials": trials}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Rehearsal:
        trials = tuple(Trial.from_record(each) for each in record["trials"])
        m, normals, impossible, folds, seed = (
            int(record[name]) for name in ("m", "normals", "impossible", "folds", "seed")
        )
        return cls(m, normals, impossible, folds, seed, trials)


def rehearse(
    problem: Problem,
    settings: Settings,
    seed: int = 0,
    evaluators: Sequence[str] = REHEARSED,
    progress: Progress = silent,
    prior: Prior | None = None,
    budget: int = MEMORY_BUDGET,
) -> Rehearsal:
    """Score what is left out of the training rows in turn; the problem's candidates play no part.

    The evidence is averaged over 25 subsets at most, so that all folds together take about as long
    as EAP over a hundred.
    """
    evaluators = evaluator_names(evaluators)
    folds = make_folds(problem, settings, seed)
    quick = replace(settings, subsets=min(settings.subsets, _SUBSETS))
    scored: list[dict[str, dict[str, Floats]]] = []

    def report(share: float, _: str) -> None:
        progress(share, "rehearsal")  # whichever evaluator is at work: its scores are not the run's

    for fold, step in zip(folds, equal_parts(report, len(folds)), strict=True):
        bench = Workbench(fold.problem, quick, seed, budget)
        scored.append(_score_fold(bench, evaluators, prior, step))
    trials = tuple(
        _judge(name, folds, [each[name] for each in scored], problem.n) for name in evaluators
    )
    return Rehearsal(
        sum(len(fold.real) for fold in folds),
        sum(fold.normals for fold in folds),
        sum(fold.impossible for fold in folds),
        len(folds),
        seed,
        trials,
    )


def _score_fold(
    bench: Workbench, evaluators: Sequence[str], prior: Prior | None, progress: Progress
) -> dict[str, dict[str, Floats]]:
    found: dict[str, dict[str, Floats]] = {}
    for name, step in zip(evaluators, equal_parts(progress, len(evaluators)), strict=True):
        if name == "eap":
            found[name] = eap_columns(bench, prior, step)
        else:
            found[name] = score_columns(name, EVALUATORS[name], bench, prior, step)
        step(1.0, "rehearsal")
    return found


# The folds: what is left out of each, and what is left.


@dataclass(frozen=True, eq=False)
class Fold:
    """The candidates of ``problem`` are the real anomalies that were left out, by their ids, then
    so many normals, then so many impossible rows."""

    problem: Problem
    real: tuple[str, ...]
    normals: int
    impossible: int

    def split(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """A column's values of the real anomalies, the normals and the impossible rows."""
        first = len(self.real)
        parts = np.split(np.asarray(values), [first, first + self.normals])
        return parts[0], parts[1], parts[2]


def make_folds(problem: Problem, settings: Settings, seed: int) -> list[Fold]:
    """Leave out each real anomaly once, and beside them an equal share of normals a fold."""
    if not problem.m:
        raise DataError(
            "there is no real anomaly to rehearse with",
            advice="a score can be tried out where there is at least one; add some",
        )
    problem = problem.drawn(_MOST_NORMALS, seed)
    rng = np.random.default_rng([seed, zlib.crc32(b"rehearsal")])
    count = min(_FOLDS, problem.m)
    each = _count_left_out(problem, settings, count)
    normals = rng.permutation(problem.normals)
    parts = np.array_split(rng.permutation(problem.anomalies), count)
    return [
        _make_fold(problem, np.sort(real), np.sort(normals[i * each : (i + 1) * each]), rng)
        for i, real in enumerate(parts)
    ]


def _count_left_out(problem: Problem, settings: Settings, folds: int) -> int:
    """Normals a fold: a fifth at most, and never so many that the rest could not be learnt from."""
    there = len(problem.normals)
    kept_anomalies = problem.m - problem.m // folds
    spare = there - max(settings.fewest_normals, kept_anomalies + 1)
    found = min(there // _FOLDS, spare)
    if found < 1:
        raise DataError(
            f"{there:,} normals beside {problem.m:,} real anomalies are too few to leave some out",
            advice="add normals",
        )
    return found


def _make_fold(problem: Problem, real: Ints, normals: Ints, rng: np.random.Generator) -> Fold:
    kept = np.ones(problem.n, dtype=bool)
    kept[real] = kept[normals] = False
    x, y = problem.x_train[kept], problem.y_train[kept]
    made = make_impossible(x, y == 0, max(_LEAST_OF_A_KIND, -(-len(normals) // 3)), rng)
    ids = tuple(problem.train_ids[row] for row in real)
    left = replace(
        problem,
        x_train=x,
        y_train=y,
        x_candidates=np.vstack([problem.x_train[real], problem.x_train[normals], made]),
        ids=tuple(str(i) for i in range(len(real) + len(normals) + len(made))),
        train_ids=tuple(problem.train_ids[row] for row in np.flatnonzero(kept)),
        rate=0.0 if y.any() else problem.rate,  # of what is left, as it is of any problem
    )
    return Fold(left, ids, len(normals), len(made))


def make_impossible(x: Floats, normal: Bools, each: int, rng: np.random.Generator) -> Floats:
    """Rows that cannot be real, so many of each kind; one column has nothing to be permuted."""
    rows, columns = x.shape
    normals = x[normal]
    noise = _NOISE * normals.std(axis=0) * rng.normal(size=(each, columns))
    low, high = normals.min(axis=0), normals.max(axis=0)
    wider = _WIDER * (high - low)
    made = [
        normals[rng.integers(len(normals), size=each)] + noise,
        rng.uniform(low - wider, high + wider, (each, columns)),
    ]
    if columns > 1:
        made.append(x[rng.integers(rows, size=(each, columns)), np.arange(columns)])
    return np.vstack(made)


# What an evaluator's scores of all folds say.


def _judge(
    name: str,
    folds: Sequence[Fold],
    scored: Sequence[Mapping[str, Floats]],
    rows: int,
) -> Trial:
    parts = [fold.split(each[column_name(name)]) for fold, each in zip(folds, scored, strict=True)]
    normals = [_count_wins(real, normal) for real, normal, _ in parts]
    impossible = [_count_wins(real, made) for real, _, made in parts]
    shares = [
        np.concatenate([each.mean(axis=1) for each in wins]) for wins in (normals, impossible)
    ]
    ids = [row for fold in folds for row in fold.real]
    own, made = (float(share.mean()) for share in shares)
    m, beside, beyond = len(ids), folds[0].normals, folds[0].impossible
    return Trial(
        name,
        tuple(LeftOut(*row) for row in zip(ids, *(each.tolist() for each in shares), strict=True)),
        estimate_auc(own, m, beside),
        estimate_auc(made, m, beyond),
        estimate_auc((own + made) / 2, m, beside + beyond),
        *_find_lines(name, folds, scored, rows),
    )


def _count_wins(real: Floats, others: Floats) -> Floats:
    """1 where a real anomaly, one a row, scores higher than another row, ½ where they tie."""
    a, b = real[:, None], others[None, :]
    return np.asarray((a > b) + (a == b) / 2)


def estimate_auc(value: float, m: int, others: int) -> Estimate:
    """An AUC of m real anomalies against so many others, with its 90 % interval.

    The interval is Newcombe's (2006, method 5): all values from which this one is not too far by
    Hanley and McNeil's variance there, which does not vanish where every real anomaly is found;
    by Student's quantile, for there are few of them. One alone says nothing.
    """
    if m == 1:
        return Estimate(value, 0.0, 1.0)
    from scipy.special import stdtrit  # slow to import

    far = float(stdtrit(m - 1, (1 + LEVEL) / 2)) * np.sqrt(m / (m - 1))
    more = (m + others) / 2 - 1

    def excluded(t: float) -> bool:
        spread = t * (1 - t) * (1 + more * (1 - t) / (2 - t) + more * t / (1 + t)) / (m * others)
        return bool((t - value) ** 2 > far**2 * spread)

    return Estimate(value, _find_edge(excluded, value, 0.0), _find_edge(excluded, value, 1.0))


def _find_edge(excluded: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where values begin to be excluded, from one that is not towards the end of the scale."""
    for _ in range(50):
        middle = (inside + outside) / 2
        if excluded(middle):
            outside = middle
        else:
            inside = middle
    return outside


def _find_lines(
    name: str, folds: Sequence[Fold], scored: Sequence[Mapping[str, Floats]], rows: int
) -> tuple[CategoryLines | None, CategoryLines | None]:
    """The lines with a stated error, for so many training rows, and the fixed ones."""
    if name not in JUDGED_BY:
        return None, None
    pooled = []
    for column in JUDGED_BY[name]:
        split = []
        for fold, each in zip(folds, scored, strict=True):
            # A count of rows is that of a fold; the line is for all of them.
            scale = rows / fold.problem.n if column == "reach_observations" else 1.0
            split.append(fold.split(scale * each[column]))
        pooled.append([np.concatenate(part) for part in zip(*split, strict=True)])
    looks, support = pooled
    most = LINE if name == "eap" else _NOT_FAR * rows
    own = measure_lines(set_looks(looks[1]), set_support(support[0], most), looks, support)
    return own, measure_lines(LINE, FIXED_SUPPORT[name], looks, support)


def set_looks(normals: Floats) -> float:
    """The lowest line that at most so many of the normals reach as are allowed to."""
    ordered = np.sort(normals)[::-1]
    # Just above the first that may not reach it, so that its equals do not, either.
    return float(np.nextafter(ordered[int(NORMALS_ERROR * len(ordered))], np.inf))


def set_support(real: Floats, most: float) -> float:
    """The highest line, up to ``most``, that at most a tenth of the real anomalies stay below."""
    return min(float(np.sort(real)[int(FAR_ERROR * len(real))]), most)


def measure_lines(
    looks: float, support: float, p: Sequence[Floats], reach: Sequence[Floats]
) -> CategoryLines:
    """What comes of lines; ``p`` and ``reach`` are of real anomalies, normals, impossible rows."""
    real, normals, impossible = (
        category_of(*pair, looks, support) for pair in zip(p, reach, strict=True)
    )
    return CategoryLines(
        looks,
        support,
        float(np.mean(normals == REALISTIC)),
        float(np.mean(real == INDISTINGUISHABLE)),
        float(np.mean(real == UNREALISTIC)),
        float(np.mean(impossible == REALISTIC)),
    )


# What it comes to, in words.


def best_evaluator(rehearsal: Rehearsal, chosen: str = "eap") -> str | None:
    """The evaluator that serves better here than the chosen one; None where none clearly does.

    Better is one whose interval of ``quality`` lies above the other's estimate, or one that finds
    at least two more, and a tenth more, of the real anomalies without being worse in that sense.
    A weak rehearsal recommends nothing.
    """
    if rehearsal.weak or chosen not in rehearsal.names:
        return None
    usual = rehearsal.trial(chosen)
    better = [each for each in rehearsal.trials if _serves_better(each, usual)]
    return max(better, key=lambda each: each.quality.value).name if better else None


def _serves_better(one: Trial, other: Trial) -> bool:
    if one.quality.low > other.quality.value:
        return True
    more = one.found - other.found
    enough = more >= max(_MORE, _MORE_SHARE * len(one.real))
    return enough and other.quality.low <= one.quality.value


def describe(rehearsal: Rehearsal, name: str, how: Lines = "paper") -> str:
    """One or two sentences on how right this evaluator is here."""
    trial = rehearsal.trial(name)
    m, found = rehearsal.m, trial.found
    if m == 1:
        verb = "ranks" if found else "does not rank"
        first = f"Your only real anomaly {verb} above 90 % of unseen normals"
    else:
        verb = "ranks" if found == 1 else "rank"
        first = f"{found:,} of your {m:,} real anomalies {verb} above 90 % of unseen normals"
    average = "It ranks" if m == 1 else "On average they rank"
    second = (
        f"{average} above {_percent(trial.above_impossible.value)} of rows that cannot be real."
    )
    return f"{first}{_describe_calls(rehearsal.lines_of(name, how), m)} {second}"


def _describe_calls(lines: CategoryLines | None, m: int) -> str:
    """What the real anomalies would be called, where that is wrong."""
    if lines is None:
        return "."
    counts = {
        "looks normal": round(lines.real_normal * m),
        "too far from the data": round(lines.real_far * m),
    }
    wrong = {words: count for words, count in counts.items() if count}
    if not wrong:
        return (
            ", and would be called realistic." if m == 1 else ", and all would be called realistic."
        )
    if m == 1:
        return f"; it would be called '{next(iter(wrong))}': judge it by eye."
    first, *rest = (f"{count:,} {{}}'{words}'" for words, count in wrong.items())
    said = " and ".join([first.format("would be called "), *(each.format("") for each in rest)])
    those = "that one" if sum(wrong.values()) == 1 else "those"
    return f"; {said}: judge {those} by eye."


def describe_label(rehearsal: Rehearsal, name: str, category: str, how: Lines = "paper") -> str:
    """How often a category is wrong here, by the rehearsal; nothing where it never was."""
    lines = rehearsal.lines_of(name, how)
    if lines is None:
        return ""
    if category == REALISTIC:
        share = lines.normals_realistic
        return (
            f"{_percent(share)} of unseen normals would be called realistic, too." if share else ""
        )
    wrong = lines.real_normal if category == INDISTINGUISHABLE else lines.real_far
    count = round(wrong * rehearsal.m)
    if not count:
        return ""
    return f"{count:,} of your {rehearsal.m:,} real anomalies would be called so, too."


def describe_better(rehearsal: Rehearsal, chosen: str = "eap") -> str | None:
    """Which evaluator serves better than the chosen one, and by what; None where none does."""
    name = best_evaluator(rehearsal, chosen)
    if name is None:
        return None
    one, other = rehearsal.trial(name), rehearsal.trial(chosen)
    better, usual = EVALUATORS[name].title, EVALUATORS[chosen].title
    return (
        f"{better} serves better here: {one.found:,} of {rehearsal.m:,} real anomalies rank above "
        f"90 % of unseen normals by it, {other.found:,} by {usual}; a real anomaly ranks above "
        f"another row in {_percent(one.quality.value)} of cases, by {usual} in "
        f"{_percent(other.quality.value)}."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def describe_weakness(rehearsal: Rehearsal) -> str | None:
    """Why the figures say little, where they do."""
    if rehearsal.m < FEW:
        count = "one real anomaly" if rehearsal.m == 1 else f"{rehearsal.m} real anomalies"
        return f"With {count} chance decides: add some to know more."
    if rehearsal.normals < FEW_NORMALS:
        return f"Only {rehearsal.normals:,} normals could be left out: add some to know more."
    return None
