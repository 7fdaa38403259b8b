#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: oracle peers slow long
"""`oracle_reddit` by programs whose ids have 16 bits: of all posts three domains in ten and nearly all URLs share their ids, and no answer differs."""
import dxtest
from collisions import cut_programs, run
from oracle_reddit import CORPUS, with_peers


def main():
    dxtest.need_programs()
    bin_dir = cut_programs()
    with_peers()
    if dxtest.shared_data(CORPUS) is None:
        dxtest.skip(f"{CORPUS} is not here")
    run("oracle_reddit", bin_dir)
    dxtest.finish()


if __name__ == "__main__":
    main()
