# SPDX-License-Identifier: Apache-2.0
"""mutations - inputs made of others by small changes, the same ones for the same seed.

    pool = Pool(seeds, tokens, seed=1)
    data = pool.make()          a seed with one to five changes
    pool.keep(data)             a seed from now on, in the place of an earlier kept one when there are too many
    corpus("url")               the files of tests/fuzz/corpus/url, and of a longer run of the fuzzer if there is one
"""
import random

import dxtest

KEPT_MAX = 2000
SIZE_MAX = 20000
ODD = bytes([0, 1, 9, 10, 11, 12, 13, 32, 34, 37, 46, 47, 58, 64, 92, 127, 128, 160, 192, 239, 254, 255])


def corpus(name, large=False):
    """large: also build/fuzz-run/<name>/corpus, which `scripts/test.sh fuzz` leaves."""
    folders = [dxtest.SOURCE / "tests/fuzz/corpus" / name]
    if large:
        folders.append(dxtest.SOURCE / "build/fuzz-run" / name / "corpus")
    files = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()) if path.is_file()]
    return [data for path in files if len(data := path.read_bytes()) <= SIZE_MAX]


class Pool:
    def __init__(self, seeds, tokens, seed):
        self.random = random.Random(seed)
        self.seeds = sorted(set(seeds))
        self.own = len(self.seeds)
        self.tokens = [t.encode("latin-1") if isinstance(t, str) else t for t in tokens]
        dxtest.check(self.seeds, "there are seeds")

    def keep(self, data):
        if len(data) > SIZE_MAX:
            return
        if len(self.seeds) < self.own + KEPT_MAX:
            self.seeds.append(data)
        else:
            self.seeds[self.random.randrange(self.own, len(self.seeds))] = data

    def make(self):
        r, data = self.random, bytearray(self.random.choice(self.seeds))
        for _ in range(r.choice((1, 1, 1, 2, 2, 3, 5))):
            self.change(data)
        return bytes(data)

    def place(self, data):
        """Two ends of a short range; the first ones are as likely near the end as anywhere."""
        r, n = self.random, len(data)
        at = r.randrange(n + 1) if r.random() < 0.7 else max(0, n - r.randrange(60))
        return at, min(n, at + r.choice((1, 1, 2, 3, 4, 8, 16)))

    def change(self, data):
        r = self.random
        at, end = self.place(data)
        what = r.randrange(9)
        if what == 0 and at < len(data):
            data[at] ^= 1 << r.randrange(8)
        elif what == 1 and at < len(data):
            data[at] = r.randrange(256)
        elif what == 2 and at < len(data):
            data[at] = r.choice(ODD)
        elif what == 3:
            del data[at:end]
        elif what == 4:
            data[at:at] = data[at:end] * r.choice((1, 1, 2, 5))
        elif what == 5:
            other = r.choice(self.seeds)
            begin, stop = self.place(other)
            data[at:end] = other[begin:stop] if r.random() < 0.7 else other[begin:]
        elif what == 6 and at < len(data):
            data[at] = (data[at] + r.choice((-1, 1))) % 256
        elif self.tokens:
            data[at:end if r.random() < 0.5 else at] = r.choice(self.tokens)
