"""Static vectors learn which texts are alike, from whoever knows."""

import numpy as np
import pytest

from scripts import teaching
from scripts.teaching import train
from tests.sizes import share

PIECES = 60
BATCH = share(teaching.BATCH)
TEXTS = 40 * BATCH


@pytest.fixture(autouse=True, scope="module")
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(teaching, "BATCH", BATCH)
        yield


@pytest.fixture(scope="module")
def lesson():
    """Texts of pieces that mean one of two things or, the first ten, nothing; rows that do not know yet."""
    random = np.random.default_rng(5)
    meant = np.where(np.arange(PIECES) % 2, 1.0, -1.0)
    texts = [
        [*random.integers(0, 10, 4), *random.choice(np.arange(10 + one % 2, PIECES - 1, 2), 3)] for one in range(TEXTS)
    ]
    wanted = np.array([[meant[text[-1]], 0.1] for text in texts], dtype=np.float32)
    rows = random.normal(size=(PIECES, 8)).astype(np.float32)
    return rows, texts, wanted + random.normal(scale=0.05, size=wanted.shape).astype(np.float32)


@pytest.fixture(scope="module")
def learnt(lesson):
    """The rows after the lesson, and what was told of its progress."""
    told: list[tuple[int, int]] = []
    rows, texts, wanted = lesson
    return train(rows, texts, wanted, lambda *far: told.append(far)), told


def told_apart(rows, texts, wanted):
    """How much more alike texts of one meaning are than those of two."""
    sums = np.array([rows[text].sum(axis=0) for text in texts[:200]])
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    same = np.equal.outer(wanted[:200, 0] > 0, wanted[:200, 0] > 0)
    alike = sums @ sums.T
    return alike[same].mean() - alike[~same].mean()


def test_texts_that_mean_one_thing_come_near(lesson, learnt):
    rows, texts, wanted = lesson
    after, _ = learnt
    assert told_apart(rows, texts, wanted) < 0.3
    assert told_apart(after, texts, wanted) > 2 * told_apart(rows, texts, wanted)


def test_what_no_text_has_stays(lesson, learnt):
    rows, texts, _ = lesson
    after, _ = learnt
    assert not any(PIECES - 1 in text for text in texts)
    assert after[PIECES - 1] == pytest.approx(rows[PIECES - 1], rel=1e-5)


def test_the_same_each_time(lesson, learnt):
    after, told = learnt
    assert np.array_equal(after, train(*lesson))
    assert told[-1][0] == told[-1][1] > 0
