# SPDX-License-Identifier: GPL-2.0
"""What calibration reads of logs, by hand: docs/results/calibration.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from aqmlab.measure import logs
from replay import prediction, queueing_laws, tcp_laws
from replay.queueing_laws import Departures


def read(
    *,
    ends: Sequence[dict[str, str]] = (),
    sojourn: Sequence[Sequence[float]] = (),
    tcp: Mapping[str, Sequence[float]] | None = None,
    queue: Mapping[str, Sequence[float]] | None = None,
    requests: Sequence[Sequence[float]] = (),
) -> logs.Logs:
    empty = np.empty((0, 3))
    return logs.Logs(
        {},
        list(ends),
        logs.FlowProgress(np.empty(0), np.empty(0, dtype=np.int64), empty),
        logs.Queue({name: np.array(column) for name, column in (queue or {}).items()}, [], {}),
        empty,
        empty,
        np.array(requests).reshape(-1, 5),
        {name: np.array(column) for name, column in (tcp or {}).items()},
        np.array(sojourn).reshape(-1, 3),
    )


def left(*packets: tuple[float, float, str, int]) -> Departures:
    """packets: came, left, group, bytes"""
    came_s, left_s, group, size = zip(*packets, strict=True)
    return Departures(np.array(came_s), np.array(left_s), np.array(group), np.array(size, float))


def test_departures_have_the_sizes_of_their_groups_and_begin_after_the_warm_up() -> None:
    ends = [{"flow": "3", "group": "a"}, {"flow": "4", "group": "b"}]
    found = queueing_laws.departures(
        read(ends=ends, sojourn=[[1.0, 3, 100.0], [1.5, 4, 500.0], [2.5, 3, 0.0]]),
        {"a": 100, "b": 70},
        2.0,
    )
    assert found.left_s.tolist() == [2.0, 2.5]
    assert found.bytes.tolist() == [70, 100]
    assert found.group.tolist() == ["b", "a"]
    with pytest.raises(ValueError, match="no packet"):
        queueing_laws.departures(read(ends=ends), {}, 0)


def test_burst_is_the_most_beyond_the_rate_in_any_window() -> None:
    """At 8000 bit/s, 1000 bytes a second: three packets at once are 1500 bytes, and after 0.1 s
    one more adds 500 - 100."""
    packets = [(0.0, at, "udp", 500) for at in (0.0, 5.0, 5.0, 5.0, 5.1, 9.0)]
    assert queueing_laws.burst_bytes(left(*packets), 8000) == pytest.approx(1900)


def test_lag_is_the_largest_difference_over_any_interval() -> None:
    """b b a a a b: from the third packet to the fifth, a has 300 bytes more."""
    packets = [(0.0, float(at), name, 100) for at, name in enumerate("bbaaab")]
    assert queueing_laws.lag_bytes(left(*packets)) == 300
    from_the_start = [(0.0, float(at), name, 100) for at, name in enumerate("aaab")]
    assert queueing_laws.lag_bytes(left(*from_the_start)) == 300


def test_lag_needs_queues_that_always_have_packets() -> None:
    packets = [(0.0, 1.0, "a", 100), (0.0, 2.0, "b", 100), (2.5, 3.0, "a", 100)]
    with pytest.raises(ValueError, match="a: the queue has no packet"):
        queueing_laws.lag_bytes(left(*packets))
    with pytest.raises(ValueError, match="1 groups"):
        queueing_laws.lag_bytes(left(packets[0]))


def test_wait_of_md1_by_hand() -> None:
    """load / (2 (1 - load)) service times: a half at a load of a half, and two at 0.8."""
    assert queueing_laws.wait_ms(0.5) == pytest.approx(0.5 * queueing_laws.SERVICE_MS)
    assert queueing_laws.wait_ms(0.8) == pytest.approx(2 * queueing_laws.SERVICE_MS)


def test_lindleys_wait_by_hand() -> None:
    """A service takes 1 ms. Packets come at 0, 0.2, 0.4 and 5 ms: they wait 0, 0.8, 1.6, 0 ms."""
    rows = [[at / 1e3, 0, 0, 1208, 0.001] for at in (0.4, 0.0, 5.0, 0.2)]
    found = queueing_laws.lindley_ms(read(requests=rows), 0)
    assert found == pytest.approx({"lindley": 0.6, "waited": 1.0})
    assert queueing_laws.lindley_ms(read(requests=rows), 0.0003)["lindley"] == pytest.approx(0.8)
    with pytest.raises(ValueError, match="no answer"):
        queueing_laws.lindley_ms(read(requests=[[0.0, 0, 0, 1208, float("nan")]]), 0)


def cubic_run(losses: Sequence[float], w_max: Sequence[float]) -> logs.Logs:
    """A window that follows CUBIC's curve between losses, read every 0.1 s and at each loss.

    losses: windows at the losses
    w_max: of the curve after each of them but the last
    """
    time_s, cwnd, ssthresh, now = [0.0], [losses[0]], [float("nan")], 0.0
    for window, plateau, after in zip(losses, w_max, losses[1:], strict=False):
        k_s = math.cbrt((plateau - 0.7 * window) / 0.4)
        end_s = k_s + math.cbrt((after - plateau) / 0.4)
        for at_s in (*np.arange(0, end_s, 0.1), end_s):
            time_s.append(now + 0.01 + at_s)
            cwnd.append(plateau + 0.4 * (at_s - k_s) ** 3)
            ssthresh.append(0.7 * window)
        now = time_s[-1]
    time_s.append(now + 0.01)
    cwnd.append(0.7 * losses[-1])
    ssthresh.append(0.7 * losses[-1])
    start = tcp_laws.CUBIC_WARMUP_S - 2
    return read(tcp={"time_s": [start + at for at in time_s], "cwnd": cwnd, "ssthresh": ssthresh})


def test_cubics_numbers_of_a_window_that_follows_the_curve() -> None:
    """Windows of 220, 210, 208 and 200 at losses: the second and the last are below W_max, which
    is 220, 0.85 * 210, 208 and 0.85 * 200. The epoch that begins in the warm-up does not count."""
    run = cubic_run([220, 210, 208, 200, 195], [220, 178.5, 208, 170])
    assert [epoch.fast for epoch in tcp_laws.epochs(run, 0, 0.5)] == [False, True, False, True]
    assert len(tcp_laws.epochs(run, tcp_laws.CUBIC_WARMUP_S, 0.5)) == 3
    found = tcp_laws.cubic(run)
    assert found == pytest.approx({"c": 0.4, "beta": 0.7, "plateau": 0.85})


def test_a_run_of_cubic_without_fast_convergence_is_an_error() -> None:
    with pytest.raises(ValueError, match="fast convergence"):
        tcp_laws.cubic(cubic_run([200, 205, 210, 215], [200, 205, 210, 215]))


def test_sawtooth_is_the_mean_over_time_of_a_window_simulated() -> None:
    """10 Mb/s and 80 ms are 66.05 packets. Step a window by 1 per round trip, and weigh each by
    the round trip's time."""
    path = tcp_laws.bdp_packets(10, tcp_laws.RENO_RTT_MS)
    assert path == pytest.approx(66.05, rel=1e-4)
    windows = np.linspace(100, 200, 100_001) * (path + 134) / 200
    mean = float((windows * windows).sum() / windows.sum())
    assert tcp_laws.sawtooth(10, 134) == pytest.approx(mean - path, rel=1e-4)
    with pytest.raises(ValueError, match="needs 66"):
        tcp_laws.sawtooth(10, 60)


def test_mean_queue_is_over_whole_cycles() -> None:
    """Drops at 2 s and 4 s: the queue of 2 and 3 s counts, and no other."""
    queue = {
        "time_s": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        "dropped": [0.0, 7.0, 8.0, 8.0, 9.0, 9.0],
        "packets": [1.0, 100.0, 10.0, 20.0, 50.0, 70.0],
    }
    assert tcp_laws.mean_queue(read(queue=queue), 1.5) == {"queue": 15.0}
    with pytest.raises(ValueError, match="no two drops"):
        tcp_laws.mean_queue(read(queue=queue), 3.5)


def test_in_flight_is_relative_to_the_bandwidth_delay_product() -> None:
    bdp = tcp_laws.bdp_packets(tcp_laws.BBR_MBPS, tcp_laws.BBR_RTT_MS)
    late = tcp_laws.BBR_WARMUP_S
    found = tcp_laws.in_flight(
        read(tcp={"time_s": [0.0, late, late + 1.0], "unacked": [900.0, bdp, 2 * bdp]})
    )
    assert found == pytest.approx({"mean": 1.5, "most": 2.0})


@pytest.mark.parametrize(
    ("bound", "theory", "measured", "error"),
    [
        ("", 10, 11, 0.1),
        ("", 10, 9, -0.1),
        ("at most", 10, 9, 0),
        ("at most", 10, 11, 0.1),
        ("at least", 10, 11, 0),
        ("at least", 10, 9, -0.1),
    ],
)
def test_a_bound_has_an_error_on_one_side(
    bound: str, theory: float, measured: float, error: float
) -> None:
    law = prediction.Prediction(
        "", "", "", "", lambda _: theory, lambda _: measured, 0, bound=bound
    )
    assert law.error(theory, measured) == pytest.approx(error)
