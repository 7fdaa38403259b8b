#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test.sh [STAGE…] - installs what the tests need, builds, and passes every test.
#
# Without STAGE all of these run, in this order:
#   packages   Debian packages (scripts/packages.txt), storage servers and the Python peers
#   style      clang-format, include rule, shell syntax
#   clang      domaindex by clang, optimised: another compiler's for the release stage
#   release    release build by gcc without a warning, end-to-end and oracle tests, and the unit tests of which
#              the sanitizers run a part
#   asan       AddressSanitizer and UBSan: unit tests, reruns of the fuzz corpora, the server
#   tsan       ThreadSanitizer: what has threads
#   fuzz       all of it by clang with -Werror; libFuzzer, FUZZ_SECONDS (2) for each target, JOBS at a time
#
# JOBS (default: cores), FUZZ_SECONDS, DX_SHARED_DATA (see docs/TESTING.md) are taken from the
# environment. Logs are in build/test-logs. Exit 1 if anything failed; what was skipped is
# listed with its reason.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

jobs=${JOBS:-$(nproc)}
fuzz_seconds=${FUZZ_SECONDS:-2}
logs=$PWD/build/test-logs
all_stages="packages style clang release asan tsan fuzz"

build() { # PRESET TARGET [CMAKE ARGUMENT…]
    local preset=$1 target=$2
    shift 2
    cmake --preset "$preset" "$@" && cmake --build --preset "$preset" -j "$jobs" --target "$target" -- -k 0
}

tests_of() { # PRESET [CTEST ARGUMENT…]
    local preset=$1
    shift
    ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" "$@"
}

# The storage servers are built beside the first stages: that takes minutes the first time.
servers_pid=
servers_begin() {
    scripts/storage_servers.sh >"$logs/storage-servers.out" 2>"$logs/storage-servers.log" &
    servers_pid=$!
}

# They are there, or cannot be had here, which their tests say; else 1.
servers_end() {
    local status line
    [ -n "$servers_pid" ] || return 0
    wait "$servers_pid"
    status=$?
    servers_pid=
    cat "$logs/storage-servers.log"
    while IFS= read -r line; do
        [ -z "$line" ] || export "${line?}"
    done <"$logs/storage-servers.out"
    [ $status -eq 0 ] || [ $status -eq 77 ]
}

stage_packages() {
    scripts/install_packages.sh build test || return 1
    servers_begin
    scripts/peers.sh # the last line that is printed names its python
}

stage_style() {
    local bad=0 script
    if command -v clang-format-14 >/dev/null; then
        find base canon format parquet cache fetch config loader query server builder tests bench \
            -name '*.[ch]' -print0 | xargs -0 clang-format-14 --dry-run -Werror || bad=1
    else
        echo "clang-format-14 is missing"
        bad=1
    fi
    python3 tests/check_includes.py --self-test || bad=1
    python3 tests/check_includes.py || bad=1
    for script in scripts/*.sh .ci/run tests/e2e/*.sh bench/*.sh; do
        [ -e "$script" ] || continue
        bash -n "$script" || bad=1
    done
    return $bad
}

stage_clang() {
    build clang domaindex -DDX_WERROR=ON -DDX_TESTS=OFF -DDX_BENCH=OFF
}

# Unit tests run with sanitizers, and are not built here, but for those that scripts drive and those that run wholly only
# without sanitizers: of the damage every 23rd and 101st bit; `ctest --test-dir build/dev -L unit` takes more.
stage_release() {
    build release all -DDX_UNIT_TESTS=drivers >"$logs/release-build.log" 2>&1
    local status=$?
    cat "$logs/release-build.log"
    [ $status -eq 0 ] || return 1
    if grep -q -F 'warning:' "$logs/release-build.log"; then
        echo "the release build by gcc is to be free of warnings"
        return 1
    fi
    servers_end || return 1
    # Those with servers wait as long as they compute.
    DX_DAMAGE_STEP=${DX_DAMAGE_STEP:-23} DX_BELIEVED_STEP=${DX_BELIEVED_STEP:-23} DX_VERIFY_STEP=${DX_VERIFY_STEP:-101} \
        tests_of release -L 'e2e|peers|oracle|sampled' -j $((jobs * 5 / 2))
}

stage_asan() {
    servers_end || return 1
    # Of damage whose checksums are not looked at every third bit; fuzzing has such files too.
    build asan all -DDX_BENCH=OFF && DX_BELIEVED_STEP=${DX_BELIEVED_STEP:-3} tests_of asan -LE 'peers|slow|tree' -j $((jobs + 1))
}

stage_tsan() {
    servers_end || return 1
    build tsan all -DDX_BENCH=OFF -DDX_UNIT_TESTS=threads && tests_of tsan -L threads -LE 'peers|slow' -j $((jobs + 1))
}

fuzz_one() { # PROGRAM
    local name=${1##*/fuzz_} run status
    run=build/fuzz-run/$name
    rm -rf "$run"
    mkdir -p "$run/corpus" build/fuzz-found
    cp -r "tests/fuzz/corpus/$name/." "$run/corpus/" 2>/dev/null
    "$1" -max_total_time="$fuzz_seconds" -timeout=20 -rss_limit_mb=3000 -print_final_stats=1 \
        -artifact_prefix="build/fuzz-found/$name-" "$run/corpus" >"$run/log" 2>&1
    status=$?
    if [ $status -ne 0 ]; then
        echo "fuzz_$name: FAILED ($status); the input is kept:"
        grep -a -E 'SUMMARY|Test unit written|ERROR:' "$run/log"
        tail -n 60 "$run/log"
        return 1
    fi
    echo "fuzz_$name: $(awk '/stat::number_of_executed_units/ { print $2 }' "$run/log") runs, no find"
}

stage_fuzz() {
    local found
    build fuzz all -DDX_WERROR=ON || return 1
    found=$(find build/fuzz/tests -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x | sort)
    [ -n "$found" ] || { echo "no fuzz targets were built"; return 1; }
    export fuzz_seconds
    export -f fuzz_one
    xargs -P "$jobs" -I{} bash -c 'fuzz_one {}' <<<"$found"
}

# What tests of a build said they skip, whole tests or parts, with the reason they gave.
skipped_in() { # PRESET
    local log=build/$1/Testing/Temporary/LastTest.log
    [ -e "$log" ] || return 0
    awk -v preset="$1" '
        /^[0-9]+\/[0-9]+ Test: / { name = $3; next }
        /^Command: / { next }
        /SKIP/ { printf "  %s: %s: %s\n", preset, name, $0 }' "$log"
    grep -a -o '[^ ]* \.*\*\*\*Skipped' "$logs/$1.log" | while read -r name _; do
        awk -v name="$name" '
            /^[0-9]+\/[0-9]+ Test: / { on = ($3 == name) }
            on && /SKIP/ { said = 1 }
            END { exit said }' "$log" && echo "  $1: $name: gave no reason"
    done
}

stages=${*:-$all_stages}
for stage in $stages; do
    [[ " $all_stages " == *" $stage "* ]] || {
        echo "test.sh: no stage '$stage'; there are: $all_stages" >&2
        exit 2
    }
done

mkdir -p "$logs"
rm -f "$logs"/*.log # of the run before
summary= skipped= failed=0 whole=$SECONDS
for stage in $stages; do
    begin=$SECONDS
    printf '%-9s ' "$stage"
    rm -f "build/$stage/Testing/Temporary/LastTest.log"
    "stage_$stage" >"$logs/$stage.log" 2>&1
    case $? in
    0) result=passed ;;
    77)
        result=skipped
        skipped+="  $stage: $(grep -a SKIP "$logs/$stage.log" | tail -n 1)"$'\n'
        ;;
    *)
        result=FAILED
        failed=1
        ;;
    esac
    passed=$(grep -a -o -E '[0-9]+ tests failed out of [0-9]+' "$logs/$stage.log" | tail -n 1)
    line=$(printf '%-9s %-8s %5d s  %s' "$stage" "$result" $((SECONDS - begin)) "$passed")
    printf '%s\n' "${line:10}"
    summary+="$line"$'\n'
    skipped+=$(skipped_in "$stage")
    [[ -z $skipped || $skipped == *$'\n' ]] || skipped+=$'\n'
    if [ $result = FAILED ]; then
        echo "--- build/test-logs/$stage.log: what failed, and its end"
        grep -a -E 'error:|warning:|\*\*\*(Failed|Timeout|Exception)|^FAIL|SUMMARY:' "$logs/$stage.log" |
            head -n 40
        echo "..."
        tail -n 40 "$logs/$stage.log"
        echo "---"
    fi
    if [ "$stage" = packages ] && [ $result != FAILED ]; then
        peers=$(tail -n 1 "$logs/packages.log")
        [ $result = skipped ] || export DX_PEERS_PYTHON="$peers"
    elif [ "$stage" = packages ]; then
        break
    elif [ "$stage" = clang ] && [ $result = passed ]; then
        export DX_OTHER_BIN_DIR=$PWD/build/clang
    fi
done

servers_end >>"$logs/packages.log" || failed=1
echo
echo "stage     result     time"
printf '%s' "$summary"
if [ -n "$skipped" ]; then
    echo "SKIPPED here:"
    printf '%s' "$skipped"
fi
echo "total $((SECONDS - whole)) s"
exit $failed
