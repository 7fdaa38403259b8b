#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test.sh [short | long [resume | STAGE…] | STAGE…] - installs what the tests need, builds, and runs the tests.
#
#   test.sh          the gate, which CI runs: at most 15 minutes on two cores once packages and servers are there
#   test.sh short    while working, at most 3 minutes: style, and of the debug build unit tests and a few scripts
#   test.sh long     everything, with the variables of docs/TESTING.md at their largest and an hour of fuzzing: hours
#   test.sh long resume   what no run of `long` of this state passed yet: one that was ended goes on
#   test.sh long STAGE…   these stages of it, one after the other
#   test.sh STAGE…   some stages, one after the other
#
#   packages   Debian packages (scripts/packages.txt), storage servers, the Python peers and the npm packages of the page
#   style      clang-format, include rule, shell syntax, links in documents, banned words
#   dev        (short) debug build with -Werror: unit tests, and scripts with the label short
#   release    release build by gcc without a warning; scripts that need no sanitizer, oracles, peers
#   asan       all of it by clang with -Werror, AddressSanitizer and UBSan: unit tests, reruns of the fuzz corpora, scripts
#   tsan       (long) ThreadSanitizer: what has threads
#   fuzz       (long) libFuzzer, FUZZ_SECONDS (an hour of CPU over all) for each target, JOBS at a time
#   compilers  the programs of the stages release (gcc) and asan (clang) write the same bytes
#   alone      release build, after all others: what measures time
#
# The gate runs each script in one build (the label gate, tests/CMakeLists.txt), and the stages release and compilers beside asan,
# since scripts wait as long as they compute. JOBS (default: cores), FUZZ_SECONDS, DX_SHARED_DATA (see docs/TESTING.md) are
# taken from the environment. Logs are in build/test-logs. Exit 1 if anything failed; what was skipped is listed with
# its reason; the last line says how many tests passed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

jobs=${JOBS:-$(nproc)}
logs=$PWD/build/test-logs
all_stages="packages style dev release asan fuzz tsan compilers alone"

# Another clone of the tree finds what this one compiled: paths are relative, and the folder is not part of the key.
# What it does not find is compiled without running the preprocessor first (CCACHE_DEPEND): a tenth to a fifth less time with an empty cache.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1} CCACHE_DEPEND=${CCACHE_DEPEND:-1}

build() { # PRESET TARGET [CMAKE ARGUMENT…]
    local preset=$1 target=$2
    shift 2
    cmake --preset "$preset" "-DDX_TEST_TIMEOUT_S=$timeout_s" "$@" &&
        cmake --build --preset "$preset" -j "$jobs" --target "$target" -- -k 0
}

tests_of() { # PRESET [CTEST ARGUMENT…]
    local preset=$1 passed
    shift
    passed=$(passed_before "$stage" | paste -sd '|')
    if [ -n "$passed" ]; then
        set -- "$@" -E "^($passed)\$"
        ! ctest --test-dir "build/$preset" -N "$@" | grep -q '^Total Tests: 0$' || return 0
    fi
    ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" "$@" || second_run "$preset"
}

# On a busy machine a test may wait longer than it allows itself. Up to three tests of a stage that failed without a
# sanitizer's report run once more, one at a time. The summary names those that pass then; what fails twice has failed.
second_run() { # PRESET
    local preset=$1 dir=build/$1/Testing/Temporary name failed status
    failed=$(cut -d: -f2 "$dir/LastTestsFailed.log" 2>/dev/null)
    [ -n "$failed" ] && [ "$(wc -l <<<"$failed")" -le 3 ] || return 1
    ! grep -a -q -E 'ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error:|No tests were found' \
        "$dir/LastTest.log" || return 1
    cp "$dir/LastTest.log" "$logs/first-run-$preset.tests"
    echo "second run of what failed, one at a time:"
    ctest --test-dir "build/$preset" --output-on-failure --rerun-failed -j 1 |
        sed -u 's/% tests passed, \([0-9]*\) tests* failed out of/% of the second run passed, \1 failed of/'
    status=${PIPESTATUS[0]}
    cat "$logs/first-run-$preset.tests" >>"$dir/LastTest.log"
    for name in $failed; do
        grep -q ":$name\$" "$dir/LastTestsFailed.log" 2>/dev/null && [ "$status" -ne 0 ] ||
            echo "SECOND RUN: $name failed, and passed when it was run once more"
    done
    return "$status"
}

# ---- long resume: build/long-passed has a line "STATE STAGE TEST" for each test that passed ----

# Of the tree that is tested: what is written about it may change while a run goes on.
state_of_tree() {
    git ls-tree -r HEAD | grep -v -E '[[:space:]](docs/TESTING\.md|docs/notes/.*|bench/RESULTS\.md|CHANGELOG\.md)$' | git hash-object --stdin | head -c 12
}

passed_before() { # STAGE
    [ -z "$resumed" ] || awk -v state="$state" -v stage="$1" '$1 == state && $2 == stage { print $3 }' build/long-passed
}

# Of the run before, if it was a long one, ended or not.
keep_passed() {
    local before log
    before=$(cat "$logs/long-state" 2>/dev/null) || return 0
    for log in "$logs"/{release,asan,tsan,fuzz,compilers,alone}.log; do
        [ ! -e "$log" ] || sed -n "s/.* Test *#[0-9]*: \([^ ]*\) \.* *Passed .*/$before $(basename "$log" .log) \1/p
            s/^\(fuzz_[a-z0-9_]*\): passed.*/$before fuzz \1/p" "$log"
    done >>build/long-passed
}

# The storage servers are built beside the first stages: that takes minutes the first time.
servers_begin() {
    rm -f "$logs"/storage-servers.*
    (
        # shellcheck disable=SC2046
        scripts/storage_servers.sh $([ "$tier" = long ] || echo gate) >"$logs/storage-servers.out" 2>"$logs/storage-servers.log"
        echo $? >"$logs/storage-servers.new" && mv "$logs/storage-servers.new" "$logs/storage-servers.status"
    ) &
}

# They are there, or cannot be had here, which their tests say; else 1.
servers_end() {
    local status line
    [ -e "$logs/storage-servers.out" ] || return 0
    while [ ! -e "$logs/storage-servers.status" ]; do
        sleep 0.1
    done
    status=$(cat "$logs/storage-servers.status")
    cat "$logs/storage-servers.log"
    while IFS= read -r line; do
        [ -z "$line" ] || export "${line?}"
    done <"$logs/storage-servers.out"
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ]
}

stage_packages() {
    scripts/install_packages.sh build test || return 1
    servers_begin
    [ "$tier" != long ] || scripts/install_packages.sh arm64 || echo "the cross compiler for arm64 cannot be had here"
    [ "$tier" != long ] || timeout 600 scripts/spectral.sh >/dev/null || echo "spectral cannot be had here"
    scripts/web_tools.sh >/dev/null || [ $? -eq 77 ] || return 1 # without npm the tests of the page are skipped, and say so
    [ "$tier" != long ] || timeout 900 scripts/spark_peers.sh >/dev/null || echo "Spark cannot be had here"
    [ "$tier" != long ] || timeout 900 scripts/spark_peers.sh iceberg >/dev/null || echo "Readers of Iceberg cannot be had here"
    # shellcheck disable=SC2046
    scripts/peers.sh $([ "$tier" = long ] || echo gate) # the last line that is printed names its python
}

check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@"; then
        echo "check $name: passed"
    else
        echo "check $name: FAILED"
        return 1
    fi
}

check_format() {
    command -v clang-format-14 >/dev/null || { echo "clang-format-14 is missing"; return 1; }
    git ls-files -z '*.[ch]' | xargs -0 -P "$jobs" -n 100 clang-format-14 --dry-run -Werror
}

check_markers() { # of conflicts
    ! git grep -nE '^(<{7}|>{7}) '
}

check_scripts() {
    local bad=0 script
    for script in scripts/*.sh .ci/run tests/e2e/*.sh bench/*.sh; do
        [ ! -e "$script" ] || bash -n "$script" || bad=1
    done
    while read -r mode script; do # documents say `tests/e2e/NAME.py`, without an interpreter
        [ "$mode" = 100755 ] || [ "$(head -c 2 "$script" | tr -d '\0')" != '#!' ] || { echo "$script begins with #! and cannot be executed"; bad=1; }
    done < <(git ls-files --format='%(objectmode) %(path)' -- '*.py' '*.sh' '*.mjs' .ci)
    return $bad
}

stage_style() {
    local bad=0
    check format check_format || bad=1
    check include_rule_self_test python3 tests/check_includes.py --self-test || bad=1
    check include_rule python3 tests/check_includes.py || bad=1
    check scripts check_scripts || bad=1
    check conflict_markers check_markers || bad=1
    check links python3 tests/check_links.py || bad=1
    check metrics python3 tests/check_metrics.py || bad=1
    check words_self_test python3 tests/check_words.py --self-test || bad=1
    check words python3 tests/check_words.py || bad=1
    return $bad
}

stage_dev() {
    build dev all -DDX_BENCH=OFF || return 1
    (
        set -a
        . tests/support/few_steps.env
        tests_of dev -L 'unit|short' -LE 'long|tree' -j $((jobs + 1))
    )
}

# Unit tests run in the sanitizer stages. Built here are those that scripts drive, and two whose samples of damage are larger
# without sanitizers; `ctest --test-dir build/dev -L unit` damages every bit.
stage_release() {
    build release all -DDX_UNIT_TESTS=drivers >"$logs/release-build.log" 2>&1
    local status=$?
    cat "$logs/release-build.log"
    [ $status -eq 0 ] || return 1
    if grep -q -F 'warning:' "$logs/release-build.log"; then
        echo "the release build by gcc must be free of warnings"
        return 1
    fi
    servers_end || return 1
    if [ "$tier" = long ]; then
        tests_of release -L 'e2e|sampled' -LE 'alone|compilers' -j $((jobs + 1))
        return
    fi
    DX_DAMAGE_STEP=${DX_DAMAGE_STEP:-101} DX_BELIEVED_STEP=${DX_BELIEVED_STEP:-101} DX_VERIFY_STEP=${DX_VERIFY_STEP:-499} \
        tests_of release -L '^gate$' -LE 'alone|compilers' -j $((jobs + 2))
}

stage_asan() {
    servers_end || return 1
    build asan all -DDX_BENCH=OFF || return 1
    if [ "$tier" = long ]; then
        DX_DAMAGE_STEP=${DX_DAMAGE_STEP:-199} DX_VERIFY_STEP=${DX_VERIFY_STEP:-1009} DX_HISTORIES=6 \
            tests_of asan -LE 'peers|slow|tree|alone' -j $((jobs + 1))
        return
    fi
    # Memory that was freed is kept for 32 MiB of later frees, not 256: fresh pages cost more than most tests allocate.
    export ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=32}
    # A sample of all damage; the steps are primes, so that each bit of a byte has its turn. Fuzzing has such files too.
    DX_DAMAGE_STEP=${DX_DAMAGE_STEP:-997} DX_BELIEVED_STEP=${DX_BELIEVED_STEP:-31} DX_VERIFY_STEP=${DX_VERIFY_STEP:-4999} \
        DX_INSPECT_STEP=${DX_INSPECT_STEP:-101} DX_FLIP_STEP=${DX_FLIP_STEP:-29} tests_of asan -L '^gate$' -j $((jobs + 1))
}

stage_tsan() {
    export TSAN_OPTIONS=suppressions=$PWD/tests/tsan.supp
    servers_end || return 1
    build tsan all -DDX_BENCH=OFF -DDX_UNIT_TESTS=threads || return 1
    if [ "$tier" = long ]; then
        tests_of tsan -L threads -LE 'peers|slow|alone' -j $((jobs + 1))
        return
    fi
    DX_FLIP_STEP=${DX_FLIP_STEP:-31} tests_of tsan -L threads -LE 'peers|slow|alone|long' -j $((jobs + 1))
}

fuzz_one() { # PROGRAM
    local name=${1##*/fuzz_} run status
    run=build/fuzz-run/$name
    rm -rf "$run"
    mkdir -p "$run/corpus" build/fuzz-found
    cp -r "tests/fuzz/corpus/$name/." "build/fuzz/tests/seeds/$name/." "$run/corpus/" 2>/dev/null
    "$1" -max_total_time="$fuzz_seconds" -timeout=20 -rss_limit_mb=3000 -print_final_stats=1 -print_funcs=0 \
        -artifact_prefix="build/fuzz-found/$name-" "$run/corpus" >"$run/log" 2>&1
    status=$?
    if [ $status -ne 0 ]; then
        echo "fuzz_$name: FAILED ($status); the input is kept:"
        grep -a -E 'SUMMARY|Test unit written|ERROR:' "$run/log"
        tail -n 60 "$run/log"
        return 1
    fi
    echo "fuzz_$name: passed, $(awk '/stat::number_of_executed_units/ { print $2 }' "$run/log") runs"
}

stage_fuzz() {
    local found
    build fuzz all || return 1
    found=$(find build/fuzz/tests -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x | sort)
    [ -n "$found" ] || { echo "no fuzz targets were built"; return 1; }
    fuzz_seconds=1
    [ "$tier" != long ] || fuzz_seconds=$((3600 / $(wc -l <<<"$found")))
    found=$(grep -v -F -x -f <(passed_before fuzz | sed 's,^,build/fuzz/tests/,') <<<"$found") || return 0
    export fuzz_seconds=${FUZZ_SECONDS:-$fuzz_seconds}
    export -f fuzz_one
    xargs -P "$jobs" -I{} bash -c 'fuzz_one {}' <<<"$found"
}

# Where all stages run, asan is in the other lane: it is waited for.
stage_compilers() {
    if [ -z "$whole" ]; then
        build release all -DDX_UNIT_TESTS=drivers && build asan all -DDX_BENCH=OFF || return 1
    fi
    while [ -n "$whole" ] && [ ! -e "$logs/asan.result" ]; do
        sleep 0.2
    done
    DX_OTHER_BIN_DIR=$PWD/build/asan tests_of release -L compilers
}

stage_alone() {
    build release all -DDX_UNIT_TESTS=drivers || return 1
    servers_end || return 1
    if [ "$tier" = long ]; then
        DX_TIMED=1 tests_of release -L 'alone|timed' -j 1
        return
    fi
    tests_of release -L alone -LE '^long$'
}

# What tests of a stage said they skip, whole tests or parts, with the reason they gave.
skipped_in() { # STAGE
    local log=$logs/$1.tests
    [ -e "$log" ] || return 0
    awk -v stage="$1" '
        /^[0-9]+\/[0-9]+ Test: / { name = $3; next }
        /^Command: / { next }
        /SKIP/ { printf "  %s: %s: %s\n", stage, name, $0 }' "$log"
    grep -a -o '[^ ]* \.*\*\*\*Skipped' "$logs/$1.log" | while read -r name _; do
        awk -v name="$name" '
            /^[0-9]+\/[0-9]+ Test: / { on = ($3 == name) }
            on && /SKIP/ { said = 1 }
            END { exit said }' "$log" && echo "  $1: $name: gave no reason"
    done
}

# Prints "passed failed skipped" of a stage from its log; a stage that failed without a test has one failure.
count_of() { # STAGE RESULT
    awk -v result="$2" '
        /% tests passed, [0-9]+ tests? failed out of/ { all += $NF; failed += $4 }
        /\*\*\*Skipped/ { skipped++ }
        /^SECOND RUN: / { failed-- }
        /^(fuzz_[a-z0-9_]+|check [a-z_]+): (passed|FAILED)/ { all++; if (/FAILED/) failed++ }
        END {
            if (result == "FAILED" && failed + 0 == 0) { failed = 1; all++ }
            if (result == "skipped") { skipped++; all++ }
            printf "%d %d %d\n", all - failed - skipped, failed, skipped
        }' "$logs/$1.log"
}

# Runs one stage and leaves its result in build/test-logs/STAGE.{log,tests,result}.
run_stage() { # STAGE
    local stage=$1 begin=$SECONDS result status preset=$1
    local -a count cpu
    TIMEFORMAT='%U %S'
    [[ $stage != alone && $stage != compilers ]] || preset=release
    rm -f "build/$preset/Testing/Temporary/LastTest.log"
    { time "stage_$stage" >"$logs/$stage.log" 2>&1; } 2>"$logs/$stage.cpu"
    status=$?
    mv "build/$preset/Testing/Temporary/LastTest.log" "$logs/$stage.tests" 2>/dev/null
    case $status in
    0) result=passed ;;
    77) result=skipped ;;
    *) result=FAILED ;;
    esac
    read -ra count < <(count_of "$stage" $result)
    read -ra cpu <"$logs/$stage.cpu"
    printf '%-9s %-8s %5d s %6.0f CPU s  %4d passed %3d failed %3d skipped\n' "$stage" $result $((SECONDS - begin)) \
        "$(awk "BEGIN { print ${cpu[0]} + ${cpu[1]} }")" "${count[@]}" >"$logs/$stage.result"
    cat "$logs/$stage.result"
    if [ $result = FAILED ]; then
        echo "--- build/test-logs/$stage.log: what failed, and its end"
        grep -a -E 'error:|warning:|\*\*\*(Failed|Timeout|Exception)|^FAIL|SUMMARY:' "$logs/$stage.log" |
            head -n 40
        echo "..."
        tail -n 40 "$logs/$stage.log"
        echo "---"
    fi
}

run_lane() { # STAGE…
    local stage
    for stage in "$@"; do
        run_stage "$stage"
    done
}

tier=stages timeout_s=900 resumed='' whole=''
case "${*:-gate}" in
gate) tier=gate whole=1 ;;
short) tier=short stages="style dev" ;;
long | "long resume") tier=long whole=1 timeout_s=14400 ;;
"long "*) tier=long stages=${*:2} timeout_s=14400 ;;
*) stages=$* ;;
esac
[ -z "$whole" ] || stages="packages style release compilers asan alone"
for stage in $stages; do
    [[ " $all_stages " == *" $stage "* ]] || {
        echo "test.sh: no stage '$stage'; there are: short, long, $all_stages" >&2
        exit 2
    }
done
if [ $tier = long ]; then # as large as docs/TESTING.md says; what is set already stays
    export DX_WHOLE=1 DX_KILL_POINTS=${DX_KILL_POINTS:-200} DX_ABUSE_ROUNDS=${DX_ABUSE_ROUNDS:-3}
    export DX_HISTORIES=${DX_HISTORIES:-24} DX_BESIDE_S=${DX_BESIDE_S:-120} DX_SERVERS_S=${DX_SERVERS_S:-120}
    export DX_SOAK=${DX_SOAK:-20} DX_FLIPS=${DX_FLIPS:-2000} DX_CURSOR_LISTINGS=${DX_CURSOR_LISTINGS:-3000}
    [[ $(git describe --always --dirty) == *-dirty ]] && state=dirty || state=$(state_of_tree)
    keep_passed
    if [ "${2:-}" = resume ]; then
        [ $state != dirty ] || { echo "test.sh: commit first: a run goes on with what it began with" >&2; exit 2; }
        resumed=1
        touch build/long-passed
    fi
fi

# Tests make thousands of small roots: in memory a third of the kernel's time is saved. `long` has them on the disk.
if [ $tier = gate ] && [ -z "${TMPDIR:-}" ] && [ "$(df -B 1M --output=avail /dev/shm 2>/dev/null | tail -n 1)" -ge 4096 ] 2>/dev/null; then
    export TMPDIR=/dev/shm
fi
mkdir -p "$logs"
rm -rf "${logs:?}"/* # of the run before
[ $tier != long ] || echo "$state" >"$logs/long-state"
if [[ " $stages " == *" packages "* ]]; then
    run_stage packages
    grep -q passed "$logs/packages.result" && DX_PEERS_PYTHON=$(tail -n 1 "$logs/packages.log") && export DX_PEERS_PYTHON
    stages=${stages#packages}
    ! grep -q FAILED "$logs/packages.result" || stages=
fi
case "$whole$stages" in
1*release*)
    run_stage style
    run_lane release compilers &
    lane=$!
    # shellcheck disable=SC2046
    (run_lane asan $([ $tier = long ] && echo tsan fuzz)) # a shell of its own: else the CPU time of the other lane is that of the stage during which it ends
    wait $lane
    run_stage alone
    ;;
*)
    # shellcheck disable=SC2086
    run_lane $stages
    ;;
esac
servers_end >>"$logs/packages.log" || echo "packages  FAILED   storage servers: build/test-logs/storage-servers.log" |
    tee "$logs/storage-servers.result"

echo
skipped=$(for stage in $all_stages; do
    [ ! -e "$logs/$stage.log" ] || skipped_in "$stage"
    ! grep -q ' skipped  ' "$logs/$stage.result" 2>/dev/null ||
        echo "  $stage: $(grep -a SKIP "$logs/$stage.log" | tail -n 1)"
done)
[ -z "$skipped" ] || printf 'SKIPPED here:\n%s\n' "$skipped"
grep -a -h '^SECOND RUN: ' "$logs"/*.log || true
[ $tier != long ] || printf 'for the table in docs/TESTING.md:\n| %s | %s | %s | %d min |\n' "$(date -u +%F)" \
    "$(git describe --always --dirty)" "$(grep -l FAILED "$logs"/*.result | sed 's,.*/,,;s,.result,,' | xargs | sed 's/^$/passed/;t;s/^/FAILED: /')" \
    $((SECONDS / 60))
[ -z "$resumed" ] || echo "passed in runs of this state before this one: $(grep "^$state " build/long-passed | sort -u | wc -l) tests"
echo "total $((SECONDS)) s"
cat "$logs"/*.result | awk '
    { for (i = 2; i <= NF; i++) n[$i] += $(i - 1) }
    /FAILED/ { bad = 1 }
    END {
        if (bad && !n["failed"]) n["failed"] = 1
        printf "%d passed, %d failed, %d skipped\n", n["passed"], n["failed"], n["skipped"]
        exit bad
    }'
