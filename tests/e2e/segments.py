# SPDX-License-Identifier: Apache-2.0
# labels: peers slow
"""Datasets that come over a real broker as segments: nothing is lost, nothing is there twice.

A RabbitMQ of this test's own takes messages of 64 KiB at most. Against what was sent stand the rows
of the lake, read by pyarrow, and their number in the files. DX_SEGMENT_KILLS=200 kills the
consumer so often; the seed of all that is random is printed, and DX_SEED sets it;
DX_PARTS runs only the parts of these names.
"""
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import time

import dxtest
import rabbit

try:
    import pyarrow.parquet
except ImportError:
    dxtest.skip("there is no pyarrow (tests/e2e/requirements.txt)")

LIMIT = 65536
MSS = 4000
KILLS = int(os.environ.get("DX_SEGMENT_KILLS", "12"))
SEED = int(os.environ.get("DX_SEED", time.time_ns() % 1_000_000))
PARTS = os.environ.get("DX_PARTS", "").split()
random.seed(SEED)
print(f"DX_SEED={SEED}")


def rows(name, count):
    return [{"url": f"http://{name}{i % 37}.example/{i}", "ts": 1700000000 + i,
             "title": f"{name} {i} äöü"} for i in range(count)]


def lines(objects):
    return "".join(json.dumps(o, ensure_ascii=False) + "\n" for o in objects).encode()


def cut(data, mss=MSS):
    """As the format has it: the header, and one more segment where mss divides the size."""
    count = len(data) // mss + 1
    return [struct.pack("<II", i, count) + data[i * mss:(i + 1) * mss] for i in range(count)]


def lake(root):
    """Every row of every file, with the name of its dataset; sorted."""
    registry = json.loads((root / "urls/registry.json").read_text())
    names = {entry["dataset_id"]: entry["name"] for entry in registry["datasets"]}
    found = []
    for path in root.rglob("*.parquet"):
        for row in pyarrow.parquet.ParquetFile(path).read().to_pylist():
            found.append((names[row["dataset_id"]],
                          f"{row['scheme']}://{row['host']}{row['path_query']}",
                          row["title"]))
    return sorted(found)


def want(**datasets):
    return sorted((name, o["url"], o["title"]) for name, objects in datasets.items() for o in objects)


def consumer(broker, queue, root, *more):
    return [dxtest.DOMAINDEX, "ingest", "--root", root, "--from", broker.url(queue),
            "--ts-column", "ts", "--extra-column", "title", "--threads", "2",
            "--memory", "64M", *more]


def receive(broker, queue, root, *more, expect=0):
    return dxtest.run(*consumer(broker, queue, root, *more), expect=expect).stderr.decode()


def ship(broker, queue, path, dataset, mss=MSS, expect=0):
    return dxtest.domaindex("ship", "--to", broker.url(queue), "--mss", mss, "--dataset", dataset,
                            path, expect=expect).stderr.decode()


def larger_than_a_message(broker, folder):
    """Shipped, received, and once more: the second time adds nothing and leaves nothing."""
    data, root = rows("big", 3000), folder / "big"
    path = folder / "big.jsonl"
    path.write_bytes(lines(data))
    dxtest.check(path.stat().st_size > 3 * LIMIT, "the input is larger than some messages")
    words = ship(broker, "big", path, "big", mss=LIMIT, expect=1)
    dxtest.check("message size" in words, f"a segment over the broker's limit: {words}")
    ship(broker, "big", path, "big", mss=LIMIT - 8)
    receive(broker, "big", root)
    dxtest.equal(lake(root), want(big=data), "rows of a shipped file")
    ship(broker, "big", path, "big", mss=LIMIT - 8)
    receive(broker, "big", root, "--transfers", "0", "--wait", "1")
    dxtest.equal(lake(root), want(big=data), "rows after the same transfer came again")
    dxtest.equal(broker.sender("big").depth(), 0, "messages left")
    dxtest.check(not any((root / "spool").glob("*/bytes")), "bytes are gone from the spool")


def without_properties(broker, folder):
    """As the original sends: a JSON array, no properties; in any order, some of it twice."""
    first, second, root = rows("one", 300), rows("two", 200), folder / "plain"
    sender = broker.sender("plain")
    messages = cut(json.dumps(first).encode())
    messages += random.sample(messages, 5)
    random.shuffle(messages)
    for message in messages:
        sender.send(message)
    words = receive(broker, "plain", root, "--dataset", "plain")
    dxtest.check("put back" in words and ", 0 were put back" not in words, f"requeued: {words}")
    dxtest.equal(lake(root), want(plain=first), "rows of an array, shuffled")
    # What was there twice may lie behind the last one: without an id it is of nobody.
    sender.purge()
    for message in cut(json.dumps(second).encode()):
        sender.send(message)
    receive(broker, "plain", root, "--dataset", "plain")
    dxtest.equal(lake(root), want(plain=first + second), "rows of the next transfer")
    # A size that mss divides: the last segment is empty.
    even = lines(rows("even", 40))
    even = even[:len(even) // 8 * 8]
    dxtest.equal(len(cut(even, len(even) // 8)[-1]), 8, "the last segment is empty")


def far_out_of_order(broker, folder):
    """The expected one lies behind more than a window of others."""
    data, root = rows("far", 700), folder / "far"
    messages = cut(lines(data), 300)
    dxtest.check(len(messages) > 150, "more segments than two windows")
    sender = broker.sender("far")
    for message in messages[140:] + messages[:140]:
        sender.send(message, "far-1", {"dataset": "far"})
    receive(broker, "far", root, "--wait", "60")
    dxtest.equal(lake(root), want(far=data), "rows whose beginning came last")


def lost(broker, folder):
    """A segment that never comes is named; sent again it completes what came before."""
    data, root = rows("lost", 500), folder / "lost"
    messages = cut(lines(data))
    sender = broker.sender("lost")
    for at, message in enumerate(messages):
        if at != 3:
            sender.send(message, "lost-1", {"dataset": "lost"})
    words = receive(broker, "lost", root, "--wait", "1", expect=1)
    dxtest.check(f"segment 3 of {len(messages)} was expected" in words, words)
    dxtest.check(not list(root.rglob("*.parquet")), "no rows of a part")
    dxtest.equal(broker.sender("lost").depth(), len(messages) - 4, "the others wait in the queue")
    sender.send(messages[3], "lost-1", {"dataset": "lost"})
    receive(broker, "lost", root, "--wait", "60")
    dxtest.equal(lake(root), want(lost=data), "rows after the lost one came")


def two_at_once(broker, folder):
    """Two transfers whose messages are mixed."""
    a, b, root = rows("a", 300), rows("b", 300), folder / "two"
    sender = broker.sender("two")
    mixed = [(m, "a") for m in cut(lines(a))] + [(m, "b") for m in cut(lines(b))]
    random.shuffle(mixed)
    for message, name in mixed:
        sender.send(message, f"id-{name}", {"dataset": name})
    receive(broker, "two", root, "--transfers", "2", "--wait", "60")
    dxtest.equal(lake(root), want(a=a, b=b), "rows of two transfers")


def no_segment(broker, folder):
    """A message that is none stays, with words; so does one without a dataset."""
    root = folder / "none"
    for body, words in ((b"1234567", "no segment"), (struct.pack("<II", 1, 1), "sequence 1 of 1"),
                        (struct.pack("<II", 0, 1), "give --dataset")):
        sender = broker.sender("none")
        sender.send(body)
        said = receive(broker, "none", root, "--wait", "5", expect=1)
        dxtest.check(words in said, said)
        dxtest.equal(sender.depth(), 1, "the message is still there")
        sender.purge()
    url = broker.url("none").replace("amqp://", "amqp://guest:secret-word@")
    said = dxtest.domaindex("ingest", "--root", root, "--from", url, "--wait", "5", expect=1).stderr
    dxtest.check(b"secret-word" not in said and b"403" in said, f"a wrong password: {said}")
    said = dxtest.run(*consumer(broker, "none", root, "--transfers", "0", "--wait", "1"),
                      env={"DOMAINDEX_AMQP_PASSWORD": "another"}, expect=1).stderr
    dxtest.check(b"another" not in said, "the environment's password is used, and not said")


def killed(broker, folder):
    """The consumer dies at any moment, again and again."""
    root, path, sent, kills = folder / "killed", folder / "killed.jsonl", {}, 0
    while kills < KILLS:
        name = f"k{len(sent)}"
        sent[name] = rows(name, 1500)
        path.write_bytes(lines(sent[name]))
        ship(broker, "killed", path, name, mss=random.choice([1000, MSS, 30000]))
        for _ in range(4):
            with subprocess.Popen(list(map(str, consumer(broker, "killed", root))),
                                  stderr=subprocess.DEVNULL) as process:
                try:
                    process.wait(random.uniform(0.0, 0.4))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    kills += 1
                if process.wait(60) == 0:
                    break
    receive(broker, "killed", root, "--transfers", "0", "--wait", "2")
    dxtest.equal(lake(root), want(**sent), f"rows after {kills} kills")
    dxtest.equal(broker.sender("killed").depth(), 0, "messages left")


def broker_killed(broker, folder):
    """The broker dies while one sends and one receives; both go on when it is back."""
    data, root, path = rows("b", 6000), folder / "broker", folder / "broker.jsonl"
    path.write_bytes(lines(data))
    receiving = subprocess.Popen(list(map(str, consumer(broker, "broker", root))),
                                 stderr=subprocess.PIPE)
    time.sleep(0.3)
    sending = subprocess.Popen([str(dxtest.DOMAINDEX), "ship", "--to", broker.url("broker"), "--mss",
                                "300", "--dataset", "b", "--wait", "120", str(path)],
                               stderr=subprocess.PIPE)
    time.sleep(random.uniform(0.1, 0.5))
    broker.kill()
    broker.start()
    words = sending.communicate(timeout=120)[1].decode()
    dxtest.equal(sending.returncode, 0, f"ship: {words}")
    words = receiving.communicate(timeout=120)[1].decode()
    dxtest.equal(receiving.returncode, 0, f"ingest: {words}")
    dxtest.equal(lake(root), want(b=data), "rows after the broker died")
    receive(broker, "broker", root, "--transfers", "0", "--wait", "1")
    dxtest.equal(lake(root), want(b=data), "rows after what came twice")
    dxtest.equal(broker.sender("broker").depth(), 0, "messages left")


def main():
    with dxtest.tempdir() as folder:
        (folder / "rabbit").mkdir()
        with rabbit.Broker(folder / "rabbit", LIMIT) as broker:
            for part in (larger_than_a_message, without_properties, far_out_of_order, lost,
                         two_at_once, no_segment, killed, broker_killed):
                if PARTS and part.__name__ not in PARTS:
                    continue
                begun = time.monotonic()
                part(broker, pathlib.Path(folder))
                print(f"{part.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
    dxtest.finish()


if __name__ == "__main__":
    main()
