#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: oracle peers slow
"""The oracles with programs whose ids have 16 bits: every third domain and most URLs share an id, all answers stay exact.

The programs are in `collide` below those that DX_BIN_DIR names. `oracle_synthetic` and
`aggregates_oracle` over one dataset in 800 (DX_ORACLE_ONE_OF); with DX_WHOLE=1 the whole of the first and one in 40. `collisions_posts`
has all posts.
Also two URLs of one page that share an id.
"""
import json
import os
import pathlib
import subprocess
import sys

import dxtest
from oracle_reddit import CORPUS, with_peers

HERE = pathlib.Path(__file__).parent
WHOLE = dxtest.WHOLE


def run(name, bin_dir):
    """One oracle with these programs; its output is ours."""
    env = {**os.environ, "DX_BIN_DIR": str(bin_dir)}
    env.pop("DX_ORACLE_AGAIN", None)
    env.setdefault("DX_ORACLE_ONE_OF", "40" if WHOLE else "800")
    print(f"--- {name}", flush=True)
    done = subprocess.run([sys.executable, str(HERE / f"{name}.py")], env=env, check=False)
    dxtest.check(done.returncode == 0, f"{name}: exit {done.returncode}")


def cut_programs():
    """The folder of the programs with cut ids."""
    bin_dir = dxtest.BIN / "collide"
    if dxtest.id_bits() < 64:
        dxtest.skip("these programs have cut ids already: run the oracles themselves")
    if not (bin_dir / "domaindexd").exists():
        dxtest.skip(f"{bin_dir} has no programs with cut ids")
    return bin_dir


def compare_versions(bin_dir):
    """The programs say what they are, and those that are shipped have whole ids."""
    words = dxtest.run(bin_dir / "domaindexd", "--version").stdout.decode()
    dxtest.check("built for tests: ids of " in words, f"domaindexd --version: {words}")
    dxtest.check("ids of" not in dxtest.domaindex("--version").stdout.decode(), "ids of the release are cut")


def twins():
    """A page whose http and https URLs share an id."""
    import xxhash

    def bits(text):
        return xxhash.xxh3_64_intdigest(text.encode()) >> 48

    number = next(i for i in range(10 ** 7) if bits(f"http://site.com/{i}") == bits(f"https://site.com/{i}"))
    return f"http://site.com/{number}", f"https://site.com/{number}"


def compare_twins(bin_dir):
    """Rows of two URLs that share an id and stand among each other: each comes once."""
    urls = twins()
    rows = [(urls[i % 2], f"2024-01-{i + 1:02}T00:00:00Z") for i in range(7)]
    domaindex = bin_dir / "domaindex"
    with dxtest.tempdir() as tmp:
        text = "url\tts\n" + "".join(f"{url}\t{ts}\n" for url, ts in rows)
        dxtest.run(domaindex, "ingest", "--root", tmp, "--dataset", "a", "--format", "tsv", "--url-column", "url",
                   "--ts-column", "ts", "-", input=text.encode())
        dxtest.run(domaindex, "publish", "--root", tmp)
        dxtest.run(domaindex, "verify", "--deep", "--root", tmp)
        for url in urls:
            answer = json.loads(dxtest.run(domaindex, "lookup", "--root", tmp, "--url", url).stdout)
            want = [ts for u, ts in rows if u == url]
            dxtest.equal((answer["row_count"], [row["ts"] for row in answer["datasets"][0]["rows"]]), (len(want), want), url)


def main():
    dxtest.need_programs()
    bin_dir = cut_programs()
    with_peers()
    compare_versions(bin_dir)
    compare_twins(bin_dir)
    run("oracle_synthetic", bin_dir)
    if dxtest.shared_data(CORPUS) is None:
        print(f"SKIPPED: the oracles over real posts: {CORPUS} is not here", flush=True)
    else:
        run("aggregates_oracle", bin_dir)
    dxtest.finish()


if __name__ == "__main__":
    main()
