#!/bin/bash -eu
# SPDX-License-Identifier: Apache-2.0
# build.sh - the fuzz targets as OSS-Fuzz and ClusterFuzzLite want them, into $OUT:
#
#   fuzz_NAME                     a program with $LIB_FUZZING_ENGINE, of $CC and $CFLAGS
#   fuzz_NAME_seed_corpus.zip     tests/fuzz/corpus/NAME and, where the file is there, NAME/ of tests/fuzz/seeds.tar.xz
#   fuzz_NAME.dict                tests/fuzz/dictionaries/NAME.dict, where there is one
#   fuzz_NAME.options             limits of memory and time, as scripts/test.sh fuzz has them
#   lib/                          shared libraries that the image of the runner lacks, found by $ORIGIN/lib
#
# Those images set SRC, WORK, OUT, CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE and SANITIZER; tests/fuzz/README.md has values for a
# machine without containers. DX_FUZZ_TARGETS="fuzz_url fuzz_regex" builds some.
cd "${DX_SOURCE:-$SRC/domaindex}"
build=$WORK/domaindex-build
targets=${DX_FUZZ_TARGETS:-fuzz_targets}

# Sanitizers come with CFLAGS, and hardening is left to release builds. DT_RPATH and not DT_RUNPATH: libraries of libraries are found by it, too.
cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=None -DDX_FUZZ=ON -DDX_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
    -DDX_HARDEN=OFF -DDX_BENCH=OFF -DDX_MOLD=OFF \
    -DCMAKE_BUILD_RPATH='$ORIGIN/lib' -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags
# shellcheck disable=SC2086 # several targets
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target $targets

seeds=$WORK/domaindex-seeds
rm -rf "$seeds"
mkdir -p "$seeds" "$OUT/lib"
[ ! -f tests/fuzz/seeds.tar.xz ] || tar -xJf tests/fuzz/seeds.tar.xz -C "$seeds"

for program in "$build"/tests/fuzz_*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    target=${program##*/}
    name=${target#fuzz_}
    cp "$program" "$OUT/"
    mkdir -p "$seeds/$name"
    for file in tests/fuzz/corpus/"$name"/*; do # beside a seed of the same name
        [ ! -f "$file" ] || cp "$file" "$seeds/$name/corpus-${file##*/}"
    done
    rm -f "$OUT/${target}_seed_corpus.zip"
    (cd "$seeds/$name" && find . -type f -print | LC_ALL=C sort | zip -q -X -@ "$OUT/${target}_seed_corpus.zip")
    [ ! -f "tests/fuzz/dictionaries/$name.dict" ] || cp "tests/fuzz/dictionaries/$name.dict" "$OUT/$target.dict"
    printf '[libfuzzer]\nrss_limit_mb = 3000\ntimeout = 20\n' >"$OUT/$target.options"
    # All but the C library, which must be the one of the loader.
    ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
        grep -v -E '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*)\.so' | xargs -r cp -L -u -t "$OUT/lib"
done
