#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# memcheck.sh [TEST…] - unit tests under valgrind's memcheck, which finds uses of values that were never set; all of them: an hour of CPU.
#
# The build is not hardened: -ftrivial-auto-var-init=zero, which the others have, sets all local variables. A test that
# needs more than 300 s of CPU is ended and named. Reports are in build/memcheck/reports. Exit 1 if a test had one.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
reports=$PWD/build/memcheck/reports
mkdir -p "$reports"
cmake --preset dev -B build/memcheck -DDX_HARDEN=OFF -DDX_BENCH=OFF -DDX_WERROR=OFF >/dev/null &&
    cmake --build build/memcheck -j "${JOBS:-$(nproc)}" --target unit_runners >"$reports/build.log" || exit 1
set -a
. tests/support/few_steps.env
set +a
[ $# -gt 0 ] || set -- $(cd build/memcheck/tests && ls -d test_*)
failed=0
for name; do
    begin=$SECONDS
    (
        ulimit -t 300 -c 0
        exec timeout 900 valgrind --error-exitcode=99 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
            --log-file="$reports/$name.memcheck" -q "build/memcheck/tests/$name" </dev/null >"$reports/$name.log" 2>&1
    )
    code=$?
    case $code in
    0) verdict=passed ;;
    77) verdict=skipped ;;
    99) verdict=FAILED ;;
    124 | 137 | 152 | 158) verdict='not finished in time' ;;
    *) verdict="failed by itself ($code)" ;;
    esac
    [ $code -ne 99 ] || failed=1
    printf '%-32s %s, %d s\n' "$name" "$verdict" $((SECONDS - begin))
done
exit $failed
