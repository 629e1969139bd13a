"""Segments handed out to several threads: in order, once, and not too far ahead."""

from __future__ import annotations

import threading

from engine_rows import drawn

from gradfeat.rows.in_process import Feed
from gradfeat.rows.tree import segmented


def feed_of(count, width):
    return Feed(segmented(drawn(count).pieces(), 0, 0), width)


def test_a_segment_waits_until_the_oldest_is_finished():
    feed = feed_of(5, 2)
    segments = iter(feed)
    assert [next(segments).first, next(segments).first] == [0, 1]
    third, there = [], threading.Event()

    def take():
        third.append(next(segments).first)
        there.set()

    thread = threading.Thread(target=take)
    thread.start()
    feed.done(1)
    assert not there.wait(0.05)  # piece 0 is still the oldest
    feed.done(0)
    assert there.wait(10)
    thread.join()
    assert third == [2]


def test_whoever_waits_is_let_go_when_it_stops():
    feed = feed_of(5, 1)
    segments = iter(feed)
    next(segments)
    left = []
    thread = threading.Thread(target=lambda: left.append(list(segments)))
    thread.start()
    feed.stop()
    thread.join(10)
    assert left == [[]]


def test_several_threads_take_each_segment_once():
    feed, taken = feed_of(200, 4), []

    def take():
        for segment in feed:
            taken.append(segment.first)
            feed.done(segment.first)

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(taken) == list(range(200))
