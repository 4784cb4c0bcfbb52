"""What a process occupies, and operations at once."""

import socket
import threading

from tools.bench import concurrent_operations
from tools.bench import processes


def test_the_peak_memory_of_a_process():
    """In MiB, and no less after memory was given back."""
    before = processes.peak_memory()
    block = bytearray(64 * 2**20)
    block[::4096] = b"x" * len(block[::4096])
    del block

    assert processes.peak_memory() >= max(before, 64)


def test_the_peak_of_sockets_and_threads_is_remembered():
    """The peak counts sockets and threads that were closed since."""
    most = processes.PeakUsage()
    over = threading.Event()
    threads = [threading.Thread(target=over.wait) for _ in range(3)]
    with socket.socket(), socket.socket():
        most.update()
    sockets = most.sockets
    most.update()
    for thread in threads:
        thread.start()
    most.update()
    over.set()
    for thread in threads:
        thread.join()

    assert sockets >= 2
    assert most.sockets == sockets
    assert most.threads >= 4


def test_the_sampling_thread_is_not_counted():
    """The thread that samples belongs to the bench."""
    alone = processes.PeakUsage()
    alone.update()
    with processes.measure_usage() as most:
        most.update()

    assert most.threads == alone.threads


def test_operations_at_once_begin_together():
    """None begins before all are there, and each has a time of its own."""
    inside = threading.Barrier(4)

    found = concurrent_operations.run_concurrently(
        lambda number: inside.wait(10), 4
    )

    assert 4 == len(found.each)
    assert max(found.each) <= found.whole


def test_operations_one_by_one_are_in_turn():
    """Each begins when the one before has ended."""
    order = []

    found = concurrent_operations.run_in_turn(order.append, 4)

    assert [0, 1, 2, 3] == order
    assert sum(found.each) <= found.whole
