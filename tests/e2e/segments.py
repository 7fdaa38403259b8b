# SPDX-License-Identifier: Apache-2.0
# labels: peers slow
"""Datasets that come over a real broker as segments: nothing is lost, nothing is there twice.

A RabbitMQ of this test's own takes messages of 64 KiB at most. Against what was sent stand the rows
of the lake, read by pyarrow. The parts share the broker, each has its own queues and roots; five
run at a time, and those in which the broker blocks and is killed run last. DX_SEED seeds what is random;
DX_SEGMENT_KILLS=300 kills consumers so often; DX_PARTS runs only the parts of these names.

In detail: datasets over a RabbitMQ of the test's own, whose messages hold 64 KiB, started once, killed and
started again: byte for byte what the text's writer sends, larger than a message, an empty last segment,
shuffled, doubled, with the beginning behind more than two windows, segments lost (named) and sent again, two
transfers mixed, two consumers, messages that are no segments with and without `--bad-to`, wrong sums, odd
users, vhosts and queues with no secret said, TLS with right and wrong certificates, a root on versitygw;
consumers killed 4 times (DX_WHOLE=1: 12) at chosen frames and moments (`DX_SEGMENT_KILLS`), at the last acknowledgement and
among those of a transfer without an id; files sent again whose rows are gone or replaced, and parts of them; lines that are cut at any frame or fall silent, a consumer that
stands still, a queue that is deleted under who reads and who writes, a broker that blocks, the broker killed while one sends and one
receives (DX_WHOLE=1: it is half of the work; the lines of both are cut always); by strace, no acknowledgement before the syncs. The lake's rows are those that were sent, each once.
Half a minute, on a busy machine of two cores 50 s, of which half are the starts of the broker; `DX_PARTS`
runs some of it, `DX_SEED` others.
"""
import concurrent.futures
import contextlib
import faulthandler
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import amqp_proxy
import dxtest
import inject
import no_pandas  # noqa: F401
import rabbit
import roots
import stores
from amqp_proxy import ACK, CANCEL, CUT, DELIVER, PUBLISH, SILENT

try:
    import pyarrow.parquet
except ImportError:
    dxtest.skip("there is no pyarrow (tests/e2e/requirements.txt)")

LIMIT = 65536
MSS = 4000
KILLS = int(os.environ.get("DX_SEGMENT_KILLS") or (12 if dxtest.WHOLE else 4))
SEED = int(os.environ.get("DX_SEED", "8"))
PARTS = os.environ.get("DX_PARTS", "").split()
DEADLINE_S = 240
USER, PASSWORD, VHOST = "odd user", "p@ss/w%rd:?&#é", "a/b ä"
skipped = []


def rows(name, count):
    return [{"url": f"http://{name}{i % 37}.example/{i}", "ts": 1700000000 + i,
             "title": f"{name} {i} äöü"} for i in range(count)]


def lines(objects):
    return "".join(json.dumps(o, ensure_ascii=False) + "\n" for o in objects).encode()


def cut(data, mss=MSS):
    """Segments as the specification's writer makes them: a slice from where the last one ended, up to
    a pointer that moves on by mss, or by what was left before this slice."""
    count, at, pointer, found = len(data) // mss + 1, 0, mss, []
    for sequence in range(count):
        left = abs(at - len(data))
        piece = data[at:pointer]
        at += len(piece)
        pointer += min(mss, left)
        found.append(struct.pack("<II", sequence, count) + piece)
    return found


def with_id(messages, name, dataset):
    return [(message, name, {"dataset": dataset}) for message in messages]


def lake(root, files=None):
    """Every row of these or of all files, with the name of its dataset; sorted."""
    registry = json.loads((root / "registry.json").read_text())
    names = {entry["dataset_id"]: entry["name"] for entry in registry["datasets"]}
    found = []
    for path in root.rglob("*.parquet") if files is None else files:
        for row in pyarrow.parquet.ParquetFile(path).read().to_pylist():
            found.append((names[roots.dataset_of(path)],
                          f"{row['scheme']}://{row['host']}{row['path_query']}",
                          row["title"]))
    return sorted(found)


def want(**datasets):
    return sorted((name, o["url"], o["title"]) for name, objects in datasets.items() for o in objects)


def consumer(url, root, *more):
    return list(map(str, [*rabbit.UNTIL_WE_END, dxtest.DOMAINDEX, "ingest", "--root", root, "--from", url,
                          "--ts-column", "ts", "--extra-column", "title", "--threads", "2", "--memory", "64M", *more]))


def receive(url, root, *more, expect=0, env=None):
    return dxtest.run(*consumer(url, root, *more), expect=expect, env=env, timeout=DEADLINE_S).stderr.decode()


def drain(broker, queue, root, *more, env=None):
    """Runs that go on until there is nothing more; a busy machine may need several to see it all."""
    for _ in range(20):
        done = dxtest.run(*consumer(broker.url(queue), root, "--transfers", "0", "--wait", "2", *more),
                          expect=None, env=env, timeout=DEADLINE_S)
        if broker.queue(queue).depth() == 0:
            break
    dxtest.equal(done.returncode, 0, f"the last run: {done.stderr.decode()}")
    dxtest.equal(broker.queue(queue).depth(), 0, "messages left")


def sender(url, path, dataset, mss=MSS, wait_s=120):
    return list(map(str, [*rabbit.UNTIL_WE_END, dxtest.DOMAINDEX, "ship", "--to", url, "--mss", mss, "--dataset", dataset, "--wait",
                          wait_s, path]))


def ship(url, path, dataset, mss=MSS, wait_s=60, expect=0, env=None):
    return dxtest.run(*sender(url, path, dataset, mss, wait_s), expect=expect, env=env,
                      timeout=DEADLINE_S).stderr.decode()


class Started:
    """A program that is ended with the block, whatever becomes of the test."""

    def __init__(self, command, env=None):
        self.words = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stderr=self.words, stdout=subprocess.DEVNULL,
                                        env={**os.environ, **(env or {})})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(60)
        self.words.close()

    def end(self, within_s=DEADLINE_S):
        """(exit code, words)"""
        code = self.process.wait(within_s)
        self.words.seek(0)
        return code, self.words.read().decode()

    def done(self, what):
        code, words = self.end()
        dxtest.equal(code, 0, f"{what}: {words}")
        return words


def until(holds, what):
    end = time.monotonic() + DEADLINE_S
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"did not come: {what}")
        time.sleep(0.05)


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return path


# ---- the format ----

def same_bytes(broker, folder):
    """What ship puts into a queue is, byte for byte, what the specification's writer would."""
    path = written(folder, "dry.in", b"x" * 3000)
    words = dxtest.run(dxtest.DOMAINDEX, "ship", "--to", broker.url("dry"), "--mss", 1000, "--dataset", "dry", "--dry-run", "--json", path).stdout
    dry = json.loads(words)
    dxtest.equal((dry["segments"], dry["messages_sent"], dry["queue_created"], dry["dry_run"]), (4, 0, True, True), f"a dry run: {words}")
    dxtest.run(dxtest.DOMAINDEX, "ship", "--to", broker.url("dry", 1), "--dataset", "dry", "--dry-run", "--wait", 0, path, expect=1)
    words = ship(broker.url("dry"), path, "dry", mss=1000)
    dxtest.check(dry["transfer"] in words, f"the same transfer: {words}")
    words = dxtest.run(dxtest.DOMAINDEX, "ship", "--to", broker.url("dry"), "--mss", 1000, "--dataset", "dry", "--dry-run", path).stderr.decode()
    dxtest.check("dry run: nothing was sent" in words and "would be made" not in words, words)
    dxtest.equal(len(broker.queue("dry").take_all()), 4, "only the command that was no dry run sent segments")
    queue = broker.queue("bytes")
    data = random.Random(SEED).randbytes(3000)
    cases = [(0, 1), (0, 100), (1, 1), (2, 1), (99, 100), (100, 100), (101, 100), (300, 100), (1024, 512),
             (2999, 1000), (3000, 1000), (3000, 7), (3000, 3000), (3000, 3001)]
    for size, mss in cases if dxtest.WHOLE else cases[1::2]:
        path = written(folder, "bytes.in", data[:size])
        ship(broker.url("bytes"), path, "bytes", mss=mss)
        found = queue.take_all()
        dxtest.equal([body for body, _, _ in found], cut(data[:size], mss), f"{size} bytes by {mss}")
        dxtest.equal(len({(name, str(headers)) for _, name, headers in found}), 1, "one id, one set of headers")
    dxtest.equal(len(cut(data, 1000)[-1]), 8, "the last segment of a multiple is empty")


def larger_than_a_message(broker, folder):
    """Shipped, received, and once more: the second time adds nothing and leaves nothing."""
    data, root, url = rows("big", 3000), folder / "big", broker.url("big")
    path = written(folder, "big.jsonl", lines(data))
    dxtest.check(path.stat().st_size > 3 * LIMIT, "the input is larger than some messages")
    words = ship(url, path, "big", mss=LIMIT, expect=1)
    dxtest.check("message size" in words, f"a segment over the broker's limit: {words}")
    ship(url, path, "big", mss=LIMIT - 8)
    receive(url, root)
    dxtest.equal(lake(root), want(big=data), "rows of a shipped file")
    ship(url, path, "big", mss=LIMIT - 8)
    drain(broker, "big", root)
    dxtest.equal(lake(root), want(big=data), "rows after the same transfer came again")
    dxtest.check(not any((root / "spool").glob("*/bytes")), "bytes are gone from the spool")


def empty_last_segment(broker, folder):
    """A size that mss divides: the last segment is empty, and the transfer whole only with it."""
    data, root, url = rows("even", 40), folder / "even", broker.url("even")
    text = lines(data)
    text += b"\n" * (-len(text) % 8)
    ship(url, written(folder, "even.jsonl", text), "even", mss=len(text) // 8)
    queue = broker.queue("even")
    messages = queue.take_all()
    dxtest.equal([len(body) for body, _, _ in messages], [8 + len(text) // 8] * 8 + [8], "sizes of messages")
    queue.send_all(messages[:-1])
    words = receive(url, root, "--wait", "12", expect=1)
    dxtest.check("segment 8 of 9 is the next" in words, words)
    queue.send_all(messages[-1:])
    receive(url, root)
    dxtest.equal(lake(root), want(even=data), "rows")


# ---- order, copies, loss ----

def without_properties(broker, folder):
    """As the original sends: a JSON array, no properties; in any order, some of it twice."""
    first, second, root = rows("one", 300), rows("two", 200), folder / "plain"
    queue, dice, url = broker.queue("plain"), random.Random(SEED), broker.url("plain")
    messages = cut(json.dumps(first).encode())
    messages += dice.sample(messages, 5)
    dice.shuffle(messages)
    queue.send_all([(message, None, None) for message in messages])
    words = receive(url, root, "--dataset", "plain")
    dxtest.check("put back" in words and ", 0 were put back" not in words, f"requeued: {words}")
    dxtest.equal(lake(root), want(plain=first), "rows of an array, shuffled")
    # What was there twice may lie behind the last one: without an id it is of nobody.
    queue.purge()
    queue.send_all([(message, None, None) for message in cut(json.dumps(second).encode())])
    receive(url, root, "--dataset", "plain")
    dxtest.equal(lake(root), want(plain=first + second), "rows of the next transfer")


def far_out_of_order(broker, folder):
    """The expected one lies behind more than a window of others, then behind more than two."""
    data, root = rows("far", 700), folder / "far"
    messages = cut(lines(data), 300)
    dxtest.check(len(messages) > 170, "more segments than two windows")
    for n, behind in enumerate((100, 170)):
        broker.queue("far").send_all(with_id(messages[-behind:] + messages[:-behind], f"far-{n}", f"far{n}"))
        receive(broker.url("far"), root)
    dxtest.equal(lake(root), want(far0=data, far1=data), "rows whose beginning came last")


def lost(broker, folder):
    """Segments that never come are named; sent again they complete what came before."""
    data, root, url = rows("lost", 500), folder / "lost", broker.url("lost")
    messages = with_id(cut(lines(data)), "lost-1", "lost")
    queue, gone = broker.queue("lost"), (3, 6, 7)
    queue.send_all([message for at, message in enumerate(messages) if at not in gone])
    words = receive(url, root, "--wait", "12", expect=1)
    dxtest.check(f"of {len(messages)} segments are missing: 3, 6-7;" in words, words)
    dxtest.check(f"dataset 'lost', segment 3 of {len(messages)} is the next" in words, words)
    dxtest.check(not list(root.rglob("*.parquet")), "no rows of a part")
    until(lambda: broker.queue("lost").depth() == len(messages) - 6, "the others wait in the queue")
    queue.send_all([messages[at] for at in gone])
    receive(url, root)
    dxtest.equal(lake(root), want(lost=data), "rows after the lost ones came")


def two_transfers(broker, folder):
    """Two transfers whose messages are mixed, each message twice."""
    a, b, root, url = rows("a", 300), rows("b", 300), folder / "two", broker.url("two")
    mixed = 2 * (with_id(cut(lines(a)), "id-a", "a") + with_id(cut(lines(b)), "id-b", "b"))
    random.Random(SEED).shuffle(mixed)
    broker.queue("two").send_all(mixed)
    receive(url, root, "--transfers", "2")
    drain(broker, "two", root)
    dxtest.equal(lake(root), want(a=a, b=b), "rows of two transfers")


def two_consumers(broker, folder):
    """One is alone on its queue and in its spool: the other one waits, or is told."""
    url, sent = broker.url("both"), {f"c{i}": rows(f"c{i}", 200) for i in range(4)}
    queue = broker.queue("both")
    roots = [folder / "both0", folder / "both1"]
    with contextlib.ExitStack() as stack:
        runs = [stack.enter_context(Started(consumer(url, root, "--transfers", "2"))) for root in roots]
        for name, objects in sent.items():
            queue.send_all(with_id(cut(lines(objects), 500), name, name))
        for run in runs:
            run.done("one of two consumers")
    found = [lake(root) for root in roots]
    dxtest.equal(sorted(found[0] + found[1]), want(**sent), "rows of both lakes together")
    with Started(consumer(url, roots[0])) as first:
        until(lambda: queue.consumers() == 1, "the first one consumes")
        said = receive(url, roots[0], "--wait", "60", expect=1)
        dxtest.check("spool" in said and "nothing useful" not in said, f"a second one in the same spool: {said}")
        queue.send_all(with_id(cut(lines(sent["c0"]), 500), "more", "more"))
        first.done("the first one")


# ---- sent again when it was stored ----

def again(folder, name):
    """A root with its spool beside it, a file, and how a run of it goes."""
    data, root = rows(name, 150), folder / name
    return data, root, written(folder, f"{name}.jsonl", lines(data)), ("--spool", folder / f"{name}.spool")


def published(root):
    dxtest.domaindex("publish", "--root", root, "--quiet", "--memory", "64M")
    return lake(root, map(pathlib.Path, dxtest.domaindex("files", "--root", root).stdout.decode().split()))


def again_and_gone(broker, folder):
    """Rows that are gone from the lake, with their dataset or with the root, come back when their file is sent again."""
    data, root, path, spool = again(folder, "back")
    url, first = broker.url("back"), written(folder, "first.jsonl", lines(rows("first", 20)))
    ship(url, first, "first")
    receive(url, root, *spool)
    shutil.copytree(root, folder / "backup")
    ship(url, path, "back")
    receive(url, root, *spool)
    dxtest.equal(lake(root), want(first=rows("first", 20), back=data), "rows of two files")
    shutil.rmtree(root)
    (folder / "backup").rename(root)
    ship(url, path, "back")
    said = receive(url, root, *spool, "--wait", "60")
    dxtest.check("was stored before" in said and "1 of them stored before" in said, said)
    dxtest.equal(lake(root), want(first=rows("first", 20), back=data), "rows after an older copy of the root")
    dxtest.domaindex("publish", "--root", root, "--quiet", "--memory", "64M")
    dxtest.domaindex("remove", "--root", root, "--dataset", "back")
    dxtest.equal(published(root), want(first=rows("first", 20)), "rows without the dataset")
    ship(url, path, "back")
    receive(url, root, *spool, "--wait", "60")
    dxtest.equal(published(root), want(first=rows("first", 20), back=data), "rows after the dataset was removed")
    ship(url, path, "back")
    receive(url, root, *spool, "--wait", "60")
    dxtest.equal(published(root), want(first=rows("first", 20), back=data), "rows that were there are not doubled")
    dxtest.equal((broker.queue("back").depth(), list(spool[1].glob("*/bytes"))), (0, []), "what is left")


def again_replaces(broker, folder):
    """With --replace the lake has what was sent last, also if that was stored before."""
    data, root, path, spool = again(folder, "turn")
    other, url = rows("other", 30), broker.url("turn")
    second = written(folder, "turn2.jsonl", lines(other))
    for file, has in ((path, data), (second, other), (path, data)):
        ship(url, file, "turn")
        receive(url, root, *spool, "--replace", "--wait", "60")
        dxtest.equal(published(root), want(turn=has), f"rows of {file.name}, which was sent last")


def again_in_parts(broker, folder):
    """Copies of a part of what was stored are nothing; all of them together, by several runs and in any order, are the file."""
    data, root, path, spool = again(folder, "parts")
    queue = broker.queue("parts")
    messages = with_id(cut(lines(data), 500), "parts", "parts")
    queue.send_all(messages)
    receive(broker.url("parts"), root, *spool)
    for kept in root.rglob("*.parquet"):
        kept.unlink()
    random.Random(SEED).shuffle(messages)
    half = len(messages) // 2
    queue.send_all(messages[:half] + messages[:3])
    said = receive(broker.url("parts"), root, *spool, "--transfers", "0", "--wait", "2")
    dxtest.check(f"{half} of its {len(messages)} segments have come again" in said and "unfinished" not in said, said)
    dxtest.equal((queue.depth(), list(root.rglob("*.parquet"))), (0, []), "after half of it")
    queue.send_all(messages[half:])
    receive(broker.url("parts"), root, *spool, "--wait", "60")
    dxtest.equal(lake(root), want(parts=data), "rows after the other half")


def again_and_killed(broker, folder):
    """Dead at any acknowledgement of a file that comes again: its rows are there once, each time."""
    data, root, path, spool = again(folder, "dead")
    url, dice, state = broker.url("dead"), random.Random(SEED), {}
    count = len(cut(lines(data), 500))

    def tell(up, method, number):
        if up and method == ACK:
            state["left"] -= 1
            if state["left"] == 0:
                state["run"].process.kill()
                return CUT if state["cut"] else None
        return None

    ship(url, path, "dead", mss=500)
    receive(url, root, *spool)
    with amqp_proxy.Proxy(broker.port, tell) as proxy:
        for left in (count, 1, *(dice.randint(2, count - 1) for _ in range(2))):
            for kept in root.rglob("*.parquet"):
                kept.unlink()
            state.update(left=left, cut=dice.random() < 0.5)
            ship(url, path, "dead", mss=500)
            with Started(consumer(broker.url("dead", proxy.port), root, *spool, "--wait", "60")) as run:
                state["run"] = run
                until(lambda: run.process.poll() is not None, "its end")
            drain(broker, "dead", root, *spool)
            dxtest.equal(lake(root), want(dead=data), f"rows after a death at acknowledgement {left} of {count}")


def two_roots(broker, folder):
    """A spool is of one root: another one is refused before anything is taken."""
    data, root, path, spool = again(folder, "mine")
    url, queue = broker.url("mine"), broker.queue("mine")
    ship(url, path, "mine")
    receive(url, root, *spool)
    ship(url, path, "mine")
    said = receive(url, folder / "yours", *spool, expect=1)
    dxtest.check(f"is the spool of {root}" in said and "give another folder" in said, said)
    dxtest.equal(queue.depth(), len(cut(lines(data))), "segments that were not taken")
    receive(url, folder / "yours", "--spool", folder / "yours.spool")
    dxtest.equal(lake(folder / "yours"), want(mine=data), "rows with a spool of its own")
    root.rename(folder / "moved")
    (spool[1] / "owner").unlink()
    ship(url, path, "mine")
    receive(url, folder / "moved", *spool)
    dxtest.equal(lake(folder / "moved"), want(mine=data), "rows of a root that was moved")


# ---- what is no segment, and who may come in ----

def no_segment(broker, folder):
    """A message that is none stays, with words, or goes where --bad-to says."""
    root, url, queue, bad = folder / "none", broker.url("none"), broker.queue("none"), broker.queue("none.bad")
    good = rows("good", 30)
    poison = [(b"1234567", None, None), (struct.pack("<II", 1, 1), "p", {"dataset": "d"}),
              (struct.pack("<II", 0, 0), None, None),
              (struct.pack("<II", 0, 1), "q", {"dataset": "a\x01b"}),
              (struct.pack("<II", 0, 1), "r", {"dataset": "d", "sha256": "12"})]
    words = ("7 bytes", "sequence 1 of 1", "sequence 0 of 0", "not a dataset name", "64 lower-case")
    for message, expected in zip(poison, words):
        queue.send_all([message])
        said = receive(url, root, "--wait", "5", expect=1)
        dxtest.check(expected in said, f"{expected}: {said}")
        until(lambda: queue.depth() == 1, "the message is still there")
        queue.purge()
    queue.send(struct.pack("<II", 0, 1))
    said = receive(url, root, "--bad-to", "none.bad", "--wait", "5", expect=1)
    dxtest.check("give --dataset" in said, said)
    queue.purge()
    queue.send_all(poison + with_id(cut(lines(good), 400), "good", "good"))
    said = receive(url, root, "--bad-to", "none.bad")
    dxtest.check("5 were not segments" in said, said)
    dxtest.equal(lake(root), want(good=good), "rows beside messages that are no segments")
    found = bad.take_all()
    dxtest.equal([(body, name) for body, name, _ in found], [(body, name) for body, name, _ in poison],
                 "they are in the other queue")
    for (_, _, headers), expected in zip(found, words):
        dxtest.check(expected in headers["reason"], f"{expected}: {headers}")
    said = dxtest.run(*consumer(url, root, "--bad-to", "none"), expect=2).stderr.decode()
    dxtest.check("--bad-to is the queue" in said, said)


def nothing_comes(broker, folder):
    """A consumer of an empty queue sleeps until a message comes."""
    with open(folder / "idle.out", "wb") as out:
        process = subprocess.Popen(consumer(broker.url("idle"), folder / "idle", "--transfers", "0", "--wait", "4"), stderr=out, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    dxtest.equal(process.returncode, 0, (folder / "idle.out").read_text())
    dxtest.check(used.ru_utime + used.ru_stime < 1.5, f"CPU time of 4 s without a message: {used.ru_utime + used.ru_stime:.2f} s")


def wrong_sum(broker, folder):
    """Bytes that are not what the sender has summed: no rows, the segment stays, and words."""
    root, url, queue = folder / "sum", broker.url("sum"), broker.queue("sum")
    messages = cut(lines(rows("sum", 50)), 1000)
    queue.send_all([(m, "s", {"dataset": "s", "sha256": "0" * 64}) for m in messages])
    for _ in range(2):
        said = receive(url, root, expect=1)
        dxtest.check("not what the sender has summed" in said and "remove the folder" in said, said)
    dxtest.check(not list(root.rglob("*.parquet")), "no rows")
    until(lambda: queue.depth() == 1, "the last segment was not acknowledged")


def refused_rows(broker, folder):
    """A whole transfer that ingest refuses: kept, with words on what to do, and what they say helps."""
    root, url, queue, good = folder / "refused", broker.url("refused"), broker.queue("refused"), rows("after", 30)
    queue.send_all(with_id([struct.pack("<II", 0, 1) + b'[{"url":"http://a.example/"},,'], "refused", "refused"))
    queue.send_all(with_id(cut(lines(good), 400), "after", "after"))
    for _ in range(2):
        said = receive(url, root, expect=1)
        dxtest.check("array is broken" in said and "not taken into the lake" in said, said)
        folders = list((root / "spool").glob("id-*"))
        dxtest.equal([str(f) in said for f in folders], [True], f"the folder is named: {said}")
    for path in folders[0].iterdir():
        path.unlink()
    folders[0].rmdir()
    broker.queue("refused.out").send_all(queue.take_all()[1:])
    receive(broker.url("refused.out"), root)
    dxtest.equal(lake(root), want(after=good), "what came behind it")


def whole_without_ids(broker, folder):
    """A whole transfer without an id that could not be stored is stored later, though the broker has none of its segments any more."""
    root, url, queue, data = folder / "waiting", broker.url("waiting"), broker.queue("waiting"), rows("waiting", 100)
    queue.send_all([(message, None, None) for message in cut(lines(data), 1000)])
    root.mkdir()
    (root / "urls").write_text("in the way")
    said = receive(url, root, "--dataset", "waiting", expect=1)
    dxtest.check("not taken into the lake" in said, said)
    (root / "urls").unlink()
    until(lambda: queue.depth() == 1, "the last segment was not acknowledged")
    queue.purge()
    receive(url, root, "--dataset", "waiting", "--transfers", "0", "--wait", "2")
    dxtest.equal(lake(root), want(waiting=data), "rows of a transfer that waited in the spool")


def rejects_of_all(broker, folder):
    """The rejected records of all transfers of a run are in the file that --rejects names; those of the run before are not."""
    root, url, file = folder / "bad", broker.url("bad"), folder / "bad.rejects"
    for name in ("a", "b", "c"):
        text = lines(rows(name, 10)) + f'{{"url": "no url {name}"}}\n'.encode()
        broker.queue("bad").send_all(with_id(cut(text, 400), name, name))
    for transfers, wanted in (("2", "ab"), ("1", "c")):
        receive(url, root, "--rejects", file, "--transfers", transfers)
        found = file.read_text()
        dxtest.equal([name for name in "abc" if f"no url {name}" in found], list(wanted), f"rejected records: {found}")


def who_and_where(broker, folder):
    """Users, vhosts and queues with odd names; what is secret is never said."""
    data, root = rows("odd", 100), folder / "odd"
    path = written(folder, "odd.jsonl", lines(data))
    place = f"127.0.0.1:{broker.port}/a%2Fb%20%C3%A4?queue=q%20%26%3F%23"
    url = f"amqp://odd%20user:p%40ss%2Fw%25rd%3A%3F%26%23%C3%A9@{place}"
    said = ship(url, path, "odd") + receive(f"amqp://{place}", root,
                                            env={"DOMAINDEX_AMQP_USER": USER, "DOMAINDEX_AMQP_PASSWORD": PASSWORD})
    dxtest.equal(lake(root), want(odd=data), "rows over an odd vhost")
    secret = "Se-cret%2Fword"
    bad = f"amqp://guest:{secret}@127.0.0.1:{broker.port}/?queue=q"
    for command, code in ((sender(bad, path, "d", wait_s=1), 1), (consumer(bad, root), 1),
                          (consumer(bad + "&x=1", root), 2), (consumer(bad.replace("amqp", "amqb"), root), 2),
                          ([*map(str, [dxtest.DOMAINDEX, "ingest", "--root", root, "--dataset", "d", bad])], 2),
                          (sender(bad, path, "d") + [bad], 2),
                          (consumer(bad.replace("127.0.0.1:", "127.0.0.1:9"), root), 2),
                          (consumer(bad.replace(str(broker.port), "1"), root, "--wait", "1"), 1)):
        done = dxtest.run(*command, expect=code, timeout=DEADLINE_S)
        said += (done.stderr + done.stdout).decode()
    # A broker that refuses a right names the user.
    told = receive(f"amqp://stranger:word@127.0.0.1:{broker.port}/?queue=q", root, expect=1)
    dxtest.check("403 ACCESS_REFUSED" in told and "refused for user ''" in told, f"a user without rights: {told}")
    for word in ("Se-cret", "p@ss", "p%40ss", USER, "stranger"):
        dxtest.check(word not in said + told, f"{word} was said: {said}")
    dxtest.check("403" in said, f"a wrong password: {said}")
    said = receive(f"amqp://127.0.0.1:{broker.port}/none?queue=q", root, expect=1)
    dxtest.check("530" in said or "not found" in said, f"a vhost that is none: {said}")


def tls(broker, folder):
    """amqps:// with the certificate that is trusted, and without."""
    data, root = rows("tls", 300), folder / "tls"
    path = written(folder, "tls.jsonl", lines(data))
    url = f"amqps://localhost:{broker.tls_port}/?queue=tls"
    trusted = {"DOMAINDEX_AMQP_CA": str(folder / "broker.pem")}
    ship(url, path, "tls", env=trusted)
    receive(url, root, env=trusted)
    dxtest.equal(lake(root), want(tls=data), "rows over TLS")
    other = {"DOMAINDEX_AMQP_CA": str(folder / "other.pem")}
    for where, env in ((url, other), (url.replace("localhost", "127.0.0.1"), trusted), (url, {}),
                       (url, {"DOMAINDEX_AMQP_CA": str(folder / "none.pem")})):
        said = ship(where, path, "tls", env=env, expect=1)
        dxtest.check("trying again" not in said, f"refused at once, {where} {env}: {said}")
        said = receive(where, root, env=env, expect=1)
        dxtest.check("cert" in said.lower() or "hostname" in said, f"refused, {where} {env}: {said}")
    dxtest.equal(broker.queue("tls").depth(), 0, "nothing came without trust")


def object_store(broker, folder):
    """Into a root on S3, the consumer killed on the way."""
    if not stores.find("versitygw"):
        skipped.append("no versitygw")
        return
    data, url, dice = rows("s3", 1000), broker.url("s3"), random.Random(SEED)
    path, spool = written(folder, "s3.jsonl", lines(data)), folder / "s3-spool"
    with stores.Versitygw() as store:
        store.bucket("bucket")
        root = store.root("bucket", "lake")
        ship(url, path, "s3")
        said = dxtest.run(*consumer(url, root), expect=2, env=store.env).stderr.decode()
        dxtest.check("--spool DIR is missing" in said, said)
        for _ in range(3):
            with Started(consumer(url, root, "--spool", spool), env=store.env) as run:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    run.process.wait(dice.uniform(0.05, 0.5))
        drain(broker, "s3", root, "--spool", spool, env=store.env)
        dxtest.equal(lake(store.home / "objects" / "bucket" / "lake"), want(s3=data), "rows in the store")


# ---- who dies, and which line breaks ----

def acknowledged_when_durable(broker, folder):
    """By strace: no acknowledgement leaves before what it speaks of is synced."""
    if not inject.can_trace():
        skipped.append("no strace here, or no right to trace")
        return
    data, root, trace = rows("sync", 400), folder / "sync", folder / "sync.trace"
    ship(broker.url("sync"), written(folder, "sync.jsonl", lines(data)), "sync", mss=500)
    calls = "pwrite64,fdatasync,fsync,syncfs,rename,renameat,renameat2,link,linkat,sendto,unlink"
    dxtest.run("strace", "-f", "-y", "-x", "-s", "64", "-o", trace, "-e", f"trace={calls}",
               *consumer(broker.url("sync"), root), env={"ASAN_OPTIONS": "detect_leaks=0"})  # not under ptrace
    count = len(cut(lines(data), 500))
    ack = "".join(f"\\x{byte:02x}" for byte in b"\0\0\0\x0d\0\x3c\0\x50")
    pending = durable = acks = stored = settled = 0
    bytes_synced = True
    for line in trace.read_text().splitlines():
        line = line.split(None, 1)[1]
        if re.match(r"pwrite64\(\d+<[^>]*/journal>", line):
            dxtest.check(bytes_synced, "the journal is written when the bytes are synced")
            pending += int(re.search(r"= (\d+)$", line)[1]) // 32
        elif re.match(r"pwrite64\(\d+<[^>]*/bytes>", line):
            bytes_synced = False
        elif re.match(r"fdatasync\(\d+<[^>]*/bytes>", line):
            bytes_synced = True
        elif re.match(r"fdatasync\(\d+<[^>]*/journal>", line):
            durable = pending
        elif re.match(r"(fsync|syncfs)\(", line) and "/spool" not in line:
            settled = max(settled, stored)
        elif re.match(r"(rename|link)", line) and ".parquet" in line:
            stored += 1
        elif line.startswith("sendto(") and ack in line:
            acks += 1
            # Its own record; the last one also that of the lake, after files that were synced.
            dxtest.check(durable >= acks + (acks == count), f"ack {acks} of {count}: {durable} records are durable")
            if acks == count:
                dxtest.check(stored > 0 and settled == stored, f"{stored} files, {settled} of them synced in place")
    dxtest.equal(acks, count, "acknowledgements in the trace")
    dxtest.equal(lake(root), want(sync=data), "rows")


def killed(broker, folder):
    """Consumers die at chosen frames, or at any moment; each transfer is there once in the end."""
    dice, url, sent, kills = random.Random(SEED), broker.url("killed"), {}, 0
    root, state = folder / "killed", {}

    def tell(up, method, number):
        state["n"] = state.get("n", 0) + ((up, method) == state.get("at"))
        if state["n"] != state.get("when") or (up, method) != state["at"]:
            return None
        state["run"].process.kill()
        return CUT if state["cut"] else None

    with amqp_proxy.Proxy(broker.port, tell) as proxy:
        through = broker.url("killed", proxy.port)
        while kills < KILLS:
            name = f"k{len(sent)}"
            sent[name] = rows(name, 400)
            mss = dice.choice([500, MSS, 20000])
            ship(url, written(folder, "killed.jsonl", lines(sent[name])), name, mss=mss)
            segments = len(cut(lines(sent[name]), mss))
            for _ in range(3):
                at = dice.choice([(True, ACK), (True, ACK), (False, DELIVER), (True, CANCEL), None])
                last = at == (True, ACK) and dice.random() < 0.5
                state.clear()
                state.update(at=at, when=segments if last else dice.randint(1, segments), cut=dice.random() < 0.5)
                if at == (True, CANCEL):
                    state["when"] = 1
                # What is whole already is no transfer for it to wait for.
                with Started(consumer(through if at else url, root, "--wait", "1")) as run:
                    state["run"] = run
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        run.process.wait(DEADLINE_S if at else dice.uniform(0, 0.3))
                    run.process.kill()
                    code = run.process.wait(60)
                kills += code == -signal.SIGKILL
                if code == 0:
                    break
    drain(broker, "killed", root)
    dxtest.equal(lake(root), want(**sent), f"rows after {kills} kills")
    print(f"killed: {kills} times", flush=True)


def killed_at_the_end(broker, folder):
    """Dead when the broker sees the last acknowledgement: the rows are there, and synced."""
    data, root, url = rows("end", 300), folder / "end", broker.url("end")
    ship(url, written(folder, "end.jsonl", lines(data)), "end", mss=1000)
    segments, found = len(cut(lines(data), 1000)), []

    def tell(up, method, number):
        if up and method == ACK and number == segments:
            run.process.kill()
            run.process.wait(60)
            found.append(lake(root) if (root / "registry.json").exists() else "no lake")
        return None

    with amqp_proxy.Proxy(broker.port, tell) as proxy, \
            Started(consumer(broker.url("end", proxy.port), root)) as run:
        until(lambda: found, "the last acknowledgement")
    dxtest.equal(found, [want(end=data)], "rows at the last acknowledgement")
    drain(broker, "end", root)
    dxtest.equal(lake(root), want(end=data), "rows after another run")


def killed_without_ids(broker, folder):
    """Dead among the acknowledgements of a whole transfer: its other half is not taken for the next."""
    root, queue, sent = folder / "half", broker.queue("half"), []
    state = {}

    def tell(up, method, number):
        if not (up and method == ACK):
            return None
        state["left"] -= 1
        if state["left"] != 0:
            return None
        state["run"].process.kill()
        return CUT

    # One address: without ids it is a part of what a transfer is known by.
    with amqp_proxy.Proxy(broker.port, tell) as proxy:
        url = broker.url("half", proxy.port)
        for n in (2, 9, 15):
            sent += rows(f"half{n}", 200)
            messages = cut(lines(sent[-200:]), 1000)
            dxtest.check(len(messages) > 16, "more segments than are acknowledged")
            queue.send_all([(message, None, None) for message in messages])
            state["left"] = n
            with Started(consumer(url, root, "--dataset", "half")) as run:
                state["run"] = run
                until(lambda: run.process.poll() is not None, "its end")
            state["left"] = -1
            receive(url, root, "--dataset", "half", "--wait", "30")
            for _ in range(20):  # what the broker gives back only now
                if queue.depth() > 0:
                    receive(url, root, "--dataset", "half", "--wait", "30")
            dxtest.equal(queue.depth(), 0, "messages left")
            dxtest.equal(lake(root), want(half=sent), f"rows after a death at acknowledgement {n}")


def cut_lines(broker, folder):
    """Connections are reset at any frame, of one who sends and one who receives."""
    data, root, dice = rows("cut", 1500), folder / "cut", random.Random(SEED)
    path = written(folder, "cut.jsonl", lines(data))
    cuts = sorted(dice.sample(range(1, 400), 6))

    def tell(up, method, number):
        frames[up] += 1
        return CUT if frames[up] in cuts else None

    frames = {True: 0, False: 0}
    with amqp_proxy.Proxy(broker.port, tell) as there, amqp_proxy.Proxy(broker.port, tell) as here:
        with Started(sender(broker.url("cut", there.port), path, "cut", mss=400)) as sending, \
                Started(consumer(broker.url("cut", here.port), root)) as receiving:
            sending.done("ship over a line that is cut")
            receiving.done("ingest over a line that is cut")
        links = there.links + here.links
    dxtest.check(links > 6, f"{links} connections")
    drain(broker, "cut", root)
    dxtest.equal(lake(root), want(cut=data), "rows")


def silent_lines(broker, folder):
    """Lines on which nothing moves any more, without an end: heartbeats tell."""
    data, root = rows("mute", 500), folder / "mute"
    path = written(folder, "mute.jsonl", lines(data))
    with amqp_proxy.Proxy(broker.port, lambda up, method, n: SILENT if (up, method, n) == (True, PUBLISH, 20)
                          else None, heartbeat_s=2) as there, \
            amqp_proxy.Proxy(broker.port, lambda up, method, n: SILENT if (up, method, n) == (False, DELIVER, 30)
                             else None, heartbeat_s=2) as here:
        with Started(sender(broker.url("mute", there.port), path, "mute", mss=400)) as sending, \
                Started(consumer(broker.url("mute", here.port), root)) as receiving:
            sending.done("ship over a line that falls silent")
            receiving.done("ingest over a line that falls silent")
        dxtest.check(there.links > 1, f"{there.links} connections of ship")
        dxtest.check(here.links > 1, f"{here.links} connections of ingest")
    drain(broker, "mute", root)
    dxtest.equal(lake(root), want(mute=data), "rows")


def stopped_consumer(broker, folder):
    """One that stands still until the broker gives its messages back, and goes on."""
    data, root = rows("still", 300), folder / "still"
    messages = with_id(cut(lines(data), 500), "still", "still")
    queue = broker.queue("still")
    queue.send_all(messages[:-1])
    with amqp_proxy.Proxy(broker.port, lambda *_: None, heartbeat_s=2) as here, \
            Started(consumer(broker.url("still", here.port), root)) as run:
        until(lambda: here.seen[True, ACK] == len(messages) - 1, "all but the last one")
        run.process.send_signal(signal.SIGSTOP)
        queue.send_all(messages[-1:])
        until(lambda: here.seen[False, DELIVER] >= len(messages), "the last one")
        time.sleep(5)  # more than two heartbeats
        until(lambda: queue.depth() == 1, "the broker has it back")
        run.process.send_signal(signal.SIGCONT)
        run.done("ingest after it stood still")
    dxtest.equal(lake(root), want(still=data), "rows")
    drain(broker, "still", root)


def unconfirmed(broker, folder):
    """ship has not done its work before the broker says so."""
    path = written(folder, "unconfirmed.jsonl", lines(rows("u", 50)))
    with amqp_proxy.Proxy(broker.port, lambda up, method, n: None if up or method != ACK else CUT) as proxy:
        said = ship(broker.url("unconfirmed", proxy.port), path, "u", mss=1000, wait_s=2, expect=1)
        dxtest.check(proxy.links > 0 and "shipped" not in said, f"{proxy.links} connections: {said}")


def queue_taken_away(broker, folder):
    """The queue is deleted under a consumer, with what was not acknowledged; sent again it completes."""
    data, root = rows("gone", 200), folder / "gone"
    messages = with_id(cut(lines(data), 500), "gone", "gone")
    queue = broker.queue("gone")
    queue.send_all(messages[:5])
    with amqp_proxy.Proxy(broker.port, lambda *_: None) as here, \
            Started(consumer(broker.url("gone", here.port), root)) as run:
        until(lambda: here.seen[True, ACK] == 5, "acknowledgements")
        queue.delete()
        until(lambda: here.links >= 2, "another connection")
        broker.queue("gone").send_all(messages)
        run.done("ingest whose queue was deleted")
    dxtest.equal(lake(root), want(gone=data), "rows")


def queue_taken_from_ship(broker, folder):
    """The queue is deleted, with segments that the broker had confirmed, while the line breaks or holds: all are sent again."""
    data = rows("sent", 700)
    path = written(folder, "sent.jsonl", lines(data))
    count = len(cut(lines(data), 300))
    dxtest.check(count > 150, "more segments than two windows")
    for name, verdict in (("sent-cut", CUT), ("sent-on", None)):
        def tell(up, method, number, name=name, verdict=verdict):
            if (up, method, number) != (True, PUBLISH, 140):
                return None
            broker.queue(name).delete()
            return verdict

        with amqp_proxy.Proxy(broker.port, tell) as proxy:
            said = ship(broker.url(name, proxy.port), path, "sent", mss=300)
        dxtest.equal(broker.queue(name).depth(), count, f"{name}: segments in the queue: {said}")
        dxtest.check("the queue has gone" in said, f"{name}: {said}")
        receive(broker.url(name), folder / name)
        dxtest.equal(lake(folder / name), want(sent=data), f"{name}: rows")


def changed_when_sent_again(broker, folder):
    """A file that changes before a part of it is sent a second time."""
    path = written(folder, "altered.jsonl", lines(rows("alter", 100)))

    def tell(up, method, number):
        if (up, method, number) != (True, PUBLISH, 20):
            return None
        with open(path, "r+b") as file:
            file.write(b"[")
        return CUT

    with amqp_proxy.Proxy(broker.port, tell) as proxy:
        said = ship(broker.url("altered", proxy.port), path, "alter", mss=300, expect=1)
    dxtest.check("changed while it was sent" in said, said)


def broker_blocks(broker, folder):
    """A broker that takes no more messages is waited for, and the words say so. Nobody else may send."""
    data, root, url = rows("full", 2000), folder / "full", broker.url("full")
    path = written(folder, "full.jsonl", lines(data))
    broker.set_disk_free_limit(10**17)
    said = ship(url, path, "full", mss=1000, wait_s=4, expect=1)
    dxtest.check("it is blocked: low on disk" in said and "after 0 of" in said, said)
    with Started(sender(url, path, "full", mss=1000)) as run:
        broker.set_disk_free_limit(10**6)
        run.done("ship to a broker that was blocked")
    receive(url, root)
    dxtest.equal(lake(root), want(full=data), "rows")


def broker_killed(broker, folder):
    """The broker dies while one sends and one receives; both go on when it is back."""
    data, root = rows("b", 3000), folder / "broker"
    path = written(folder, "broker.jsonl", lines(data))
    busy = threading.Event()

    def tell(up, method, number):
        if up and method == ACK and number == 100:
            busy.set()

    with amqp_proxy.Proxy(broker.port, tell) as here, \
            Started(consumer(broker.url("broker", here.port), root)) as receiving, \
            Started(sender(broker.url("broker"), path, "b", mss=300, wait_s=200)) as sending:
        dxtest.check(busy.wait(DEADLINE_S), "acknowledgements")
        broker.kill()
        broker.start()
        sending.done("ship")
        receiving.done("ingest")
    dxtest.equal(lake(root), want(b=data), "rows after the broker died")
    drain(broker, "broker", root)
    dxtest.equal(lake(root), want(b=data), "rows after what came twice")


BESIDE = (silent_lines, stopped_consumer, killed, same_bytes, tls, object_store, two_consumers, cut_lines, lost,
          no_segment, larger_than_a_message, empty_last_segment, without_properties, far_out_of_order,
          two_transfers, nothing_comes, wrong_sum, refused_rows, who_and_where, acknowledged_when_durable, killed_at_the_end,
          killed_without_ids, whole_without_ids, queue_taken_away, unconfirmed, again_and_gone, again_replaces, again_in_parts, again_and_killed,
          two_roots, rejects_of_all, queue_taken_from_ship, changed_when_sent_again)


def run(part, broker, folder):
    begun = time.monotonic()
    try:
        part(broker, folder)
    except BaseException as error:
        if not isinstance(error, SystemExit):  # which has said why
            traceback.print_exc()
        dxtest.check(False, f"{part.__name__} ended early: {error!r}")
    print(f"{part.__name__}: {time.monotonic() - begun:.1f} s", flush=True)


def certificate(folder, name):
    key = folder / f"{name}.key"
    dxtest.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
               "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key,
               "-out", folder / f"{name}.pem")
    return folder / f"{name}.pem", key


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the broker ends, too
    print(f"DX_SEED={SEED}")
    # Whatever hangs: where, and the end of this process, with which all that it has started ends.
    faulthandler.dump_traceback_later(DEADLINE_S * 4 + 10 * KILLS, exit=True)
    with dxtest.tempdir() as folder:
        (folder / "rabbit").mkdir()
        certificate(folder, "other")
        with rabbit.Broker(folder / "rabbit", LIMIT, users={USER: PASSWORD}, vhosts=[VHOST], strangers={"stranger": "word"},
                           tls=certificate(folder, "broker")) as broker:
            with concurrent.futures.ThreadPoolExecutor(5) as pool:
                for part in BESIDE:
                    if not PARTS or part.__name__ in PARTS:
                        pool.submit(run, part, broker, folder)
            for part in (broker_blocks, broker_killed) if dxtest.WHOLE or PARTS else (broker_blocks,):
                if not PARTS or part.__name__ in PARTS:
                    run(part, broker, folder)
    dxtest.finish("; ".join(skipped))


if __name__ == "__main__":
    main()
