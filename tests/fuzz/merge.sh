#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# merge.sh - tests/fuzz/seeds.tar.xz rebuilt: of its inputs and of those in FOLDER/NAME/ (build/fuzz-run/NAME/corpus, where `scripts/test.sh fuzz` leaves them),
# those below 64 KiB that reach code which tests/fuzz/corpus/NAME does not. Needs the build `fuzz`. The same inputs give the same bytes.
#
#   tests/fuzz/merge.sh [FOLDER]
set -eu
cd "$(dirname "$0")/../.."
found=${1:-build/fuzz-run}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

merge() { # NAME
    old=build/fuzz/tests/seeds/$1
    all=$work/all/$1
    kept=$work/seeds/$1
    mkdir -p "$all" "$kept"
    for folder in "$old" "$found/$1" "$found/$1/corpus"; do
        [ ! -d "$folder" ] || find "$folder" -maxdepth 1 -type f -size -64k -exec cp -t "$all" {} +
    done
    cp tests/fuzz/corpus/"$1"/* "$kept"
    "build/fuzz/tests/fuzz_$1" -set_cover_merge=1 -use_counters=0 -timeout=20 -rss_limit_mb=3000 "$kept" "$all" >"$work/$1.log" 2>&1 ||
        { cat "$work/$1.log"; exit 1; }
    (cd tests/fuzz/corpus/"$1" && for file in *; do rm "$kept/$file"; done)
    echo "$1: $(find "$all" -type f | wc -l) inputs, $(find "$kept" -type f | wc -l) kept"
}

for folder in tests/fuzz/corpus/*/; do
    merge "$(basename "$folder")"
done
find "$work/seeds" -type d -empty -delete
find "$work/seeds" -type f -exec chmod 644 {} +
tar -C "$work/seeds" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=ustar -cf - . | xz -9e >"$work/seeds.tar.xz"
mv "$work/seeds.tar.xz" tests/fuzz/seeds.tar.xz
ls -l tests/fuzz/seeds.tar.xz
