"""Pacing: rates, breaker and waits, as pure functions of the time."""

import pytest

from lamina.models.llm.pacing import MAX_WAIT, Breaker, Bucket, backoff, retry_after


def test_a_bucket_gives_a_minutes_worth_at_once_and_then_evenly():
    """60 a minute: 60 now, then one a second."""
    bucket = Bucket(60)
    assert [bucket.take(1, 0.0) for _ in range(60)] == [0.0] * 60
    assert [bucket.take(1, 0.0) for _ in range(3)] == pytest.approx([1.0, 2.0, 3.0])
    assert bucket.take(1, 10.0) == 0.0


def test_a_bucket_refills_to_its_size_and_no_further():
    """An hour of silence is worth a minute."""
    bucket = Bucket(10)
    bucket.take(10, 0.0)
    assert bucket.take(10, 3600.0) == 0.0
    assert bucket.take(1, 3600.0) == pytest.approx(6.0)


def test_what_is_given_back_can_be_taken():
    """A call that was not made costs nothing."""
    bucket = Bucket(10)
    bucket.take(10, 0.0)
    bucket.take(-10, 0.0)
    assert bucket.take(10, 0.0) == 0.0


def test_one_call_larger_than_the_bucket_still_goes():
    """It counts as a whole minute."""
    bucket = Bucket(100)
    assert bucket.take(5_000, 0.0) == 0.0
    assert bucket.take(50, 0.0) == pytest.approx(30.0)


def test_no_limit_is_no_wait():
    assert [Bucket(None).take(10**9, 0.0) for _ in range(3)] == [0.0] * 3


def test_a_breaker_opens_after_failures_in_a_row():
    """A success in between starts the count anew."""
    breaker = Breaker(3, 30.0)
    for outcome in ("failed", "failed", "succeeded", "failed", "failed"):
        assert breaker.refusal(0.0) is None
        breaker.record_failure(0.0) if outcome == "failed" else breaker.record_success()
    assert breaker.refusal(0.0) is None
    breaker.record_failure(1.0)
    assert breaker.refusal(1.0) == pytest.approx(30.0)
    assert breaker.refusal(21.0) == pytest.approx(10.0)


def opened() -> Breaker:
    breaker = Breaker(1, 30.0)
    breaker.refusal(0.0)
    breaker.record_failure(0.0)
    return breaker


def test_after_a_while_one_call_tries_and_closes_it():
    """Half open: the others still wait."""
    breaker = opened()
    assert breaker.refusal(31.0) is None
    assert breaker.refusal(31.0) == 0.0
    breaker.record_success()
    assert breaker.refusal(31.0) is None
    assert breaker.refusal(31.0) is None


def test_a_trial_that_fails_opens_it_again():
    breaker = opened()
    assert breaker.refusal(31.0) is None
    breaker.record_failure(31.0)
    assert breaker.refusal(32.0) == pytest.approx(29.0)


def test_a_trial_that_is_given_up_leaves_the_next_one_to_try():
    breaker = opened()
    assert breaker.refusal(31.0) is None
    breaker.release()
    assert breaker.refusal(31.0) is None


def test_waits_double_and_spread():
    """Between half and all of what doubles, up to a bound."""
    assert [backoff(n, 0.5, 1.0) for n in range(4)] == [0.5, 1.0, 2.0, 4.0]
    assert [backoff(n, 0.5, 0.0) for n in range(4)] == [0.25, 0.5, 1.0, 2.0]
    assert backoff(1_000, 0.5, 1.0) == MAX_WAIT


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"retry-after": "3"}, 3.0, id="seconds"),
        pytest.param({"retry-after": "0.25"}, 0.25, id="fraction"),
        pytest.param({"retry-after-ms": "1500"}, 1.5, id="milliseconds"),
        pytest.param({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 90.0, id="date"),
        pytest.param({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0, id="past"),
        pytest.param({"retry-after": "-4"}, 0.0, id="negative"),
        pytest.param({"retry-after": "soon"}, None, id="nonsense"),
    ],
)
def test_what_a_server_asks_for(headers, wait):
    assert retry_after(headers, 10.0) == wait
