#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [quick|full] [NAME…] - checks versions.pml; exit 1 on a surprise, 77 without spin or a compiler.
#
# quick (default): the protocol in small worlds, and each mutation. full: larger worlds too.
# NAME: these runs only. Each run has at most 60 seconds (DX_MODEL_SECONDS) and 2 GB.
set -u
model=$(cd "$(dirname "$0")" && pwd)/versions.pml
seconds=${DX_MODEL_SECONDS:-60}
cc=${CC:-gcc}
for program in spin "$cc"; do
    if ! command -v "$program" >/dev/null; then
        echo "SKIPPED: no $program here (scripts/install_packages.sh build test)"
        exit 77
    fi
done
mode=quick
case ${1:-} in
quick | full)
    mode=$1
    shift
    ;;
esac
only=" $* "
work=$(mktemp -d "${TMPDIR:-/tmp}/dx-model.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
bad=0
ran=0

# build KIND FLAG… - the checker of one world; kind: safety, live, bits
build() {
    local kind=$1 with
    shift
    case $kind in
    safety) with="-DSAFETY -DCOLLAPSE" ;;
    bits) with="-DSAFETY -DBITSTATE" ;;
    live) with="-DCOLLAPSE -DNFAIR=5" ;;
    esac
    rm -rf "$work"/*
    # shellcheck disable=SC2086
    (cd "$work" && spin -a "$@" "$model" >spin.out 2>&1 &&
        "$cc" -O1 -w $with -DVECTORSZ=2048 -DMEMLIM=2000 -o pan pan.c >>spin.out 2>&1)
}

# run MODES NAME KIND WANT FLAG… - want: holds, or what the checker must say is violated
run() {
    local modes=$1 name=$2 kind=$3 want=$4 options verdict said states time whole
    shift 4
    [[ " $modes " == *" $mode "* ]] || return 0
    [[ $only == "  " || $only == *" $name "* ]] || return 0
    ran=$((ran + 1))
    case $kind in
    safety) options="-m400000 -c1" ;;
    bits) options="-m400000 -c1 -w32" ;;
    live) options="-m400000 -c1 -a -f -n" ;;
    esac
    if ! build "$kind" "$@"; then
        echo "FAILED: $name: no checker"
        cat "$work/spin.out"
        bad=1
        return
    fi
    # shellcheck disable=SC2086
    (cd "$work" && timeout -s INT "$seconds" ./pan $options >out 2>&1)
    said=$(sed -n 's/^pan:[0-9]*: \(.*\) (at depth [0-9]*)$/\1/p' "$work/out" | head -1 | tr -d ' ')
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$work/out")
    time=$(sed -n 's/^pan: elapsed time \([0-9.]*\) seconds/\1/p' "$work/out")
    whole=yes
    grep -qE 'Search not completed|max search depth|memory limit|out of memory' "$work/out" && whole=no
    grep -q 'errors: ' "$work/out" || whole=failed
    verdict="as expected"
    if [[ $want != holds ]]; then
        [[ -n $said && $said == *"$want"* ]] || verdict=SURPRISE
    elif [[ -n $said || $whole == failed ]]; then
        verdict=SURPRISE
    elif [[ $whole == no && $kind != bits ]]; then
        verdict=SURPRISE
        said="search not completed in $seconds s"
    elif [[ $whole == no ]]; then
        said="nothing found; not all of it searched"
    fi
    [[ $verdict == SURPRISE ]] && bad=1
    printf '%-18s %-11s %12s states %7s s  %s\n' "$name" "$verdict" "${states:-?}" "${time:-?}" "${said:-holds}"
    if [[ $verdict == SURPRISE ]]; then
        echo "  wanted: $want; flags: $*"
        [[ $whole == failed ]] && tail -5 "$work/out"
    fi
}

both="quick full"
echo "The protocol:"
run "$both" publishers safety holds -DNP=2 -DNR=1 -DNS=0 -DNG=0 -DNI=1 -DFLIPS=3
run "$both" rollback safety holds -DNP=1 -DNR=1 -DNS=0 -DNG=1 -DNI=1 -DFLIPS=2
run "$both" reader safety holds -DNP=1 -DNS=1 -DNG=1 -DNI=1 -DFLIPS=1 -DINCREMENTAL
run "$both" cursors safety holds -DTWO -DNP=0 -DNR=1 -DNS=1 -DNG=1 -DFLIPS=3
run "$both" servers safety holds -DTWO -DNP=0 -DNR=1 -DNS=2 -DNG=1 -DFLIPS=2 -DSIMPLE -DLIFE=0 -DWAIT=0
run "$both" namesakes safety holds -DNAMESAKE -DTTL=1 -DTWO -DNP=0 -DNR=1 -DNS=2 -DNG=1 -DFLIPS=2 -DSIMPLE -DLIFE=0 -DWAIT=0
run "$both" late safety holds -DNP=1 -DNS=1 -DNG=1 -DFLIPS=1 -DLATE
run "$both" collectors safety holds -DNP=1 -DNS=1 -DNG=2 -DFLIPS=1
run "$both" live live holds -DLIVE -DNP=1 -DNS=1 -DNG=1 -DNI=1 -DFLIPS=1
run "$both" parts safety holds -DPARTS -DNP=1 -DNR=1 -DNS=0 -DNG=1 -DFLIPS=2
run "$both" parts-reader safety holds -DPARTS -DNP=1 -DNS=1 -DNG=1 -DFLIPS=2 -DSIMPLE -DLIFE=0 -DWAIT=0
run full publishers-gc safety holds -DNP=2 -DNS=0 -DNG=1 -DNI=1 -DFLIPS=2 -DINCREMENTAL
run full reader-shares safety holds -DNP=1 -DNS=1 -DNG=1 -DFLIPS=2 -DINCREMENTAL
run full collectors-lake safety holds -DNP=1 -DNS=0 -DNG=2 -DNI=1 -DFLIPS=2
run full everything bits holds -DNP=2 -DNR=1 -DNS=2 -DNG=2 -DNI=1 -DFLIPS=2 -DINCREMENTAL

reader='!((((pins[y]'
echo "One rule less, and the harm that must be found:"
run "$both" no-condition safety won -DM_NO_CONDITION -DNP=2 -DNS=0 -DNG=0 -DFLIPS=2
run "$both" rebase-any safety won -DM_REBASE_ANY -DNP=2 -DNS=0 -DNG=0 -DFLIPS=2
run "$both" undo-unknown safety 'objects&refs' -DM_UNDO_UNKNOWN -DNP=1 -DNS=0 -DNG=0 -DFLIPS=1
run "$both" leftover-age safety 'building[y]==' -DM_LEFTOVER_AGE -DNP=1 -DNS=0 -DNG=1 -DFLIPS=1
run "$both" no-drop safety 'objects&refs' -DM_NO_DROP -DNP=1 -DNR=1 -DNS=0 -DNG=1 -DFLIPS=2
run "$both" no-wait safety 'cursor[' -DWAIT=0 -DNP=1 -DNS=1 -DNG=1 -DFLIPS=1
run "$both" old-mark safety 'cursor[' -DM_OLD_MARK -DTWO -DNP=0 -DNR=1 -DNS=1 -DNG=1 -DFLIPS=3
run "$both" leases-first safety "$reader" -DM_LEASES_FIRST -DNP=1 -DNS=1 -DNG=1 -DFLIPS=1
run "$both" no-confirm safety "$reader" -DM_NO_CONFIRM -DNP=1 -DNS=1 -DNG=1 -DFLIPS=1 -DLIFE=0
run "$both" fence-current safety "$reader" -DM_FENCE_CURRENT -DNP=1 -DNS=1 -DNG=1 -DFLIPS=1
run "$both" time-of-reply safety "$reader" -DM_ACK_TIME -DNP=1 -DNS=1 -DNG=1 -DFLIPS=1 -DLIFE=0
run "$both" local-clock safety "$reader" -DM_LOCAL_CLOCK -DNP=1 -DNS=1 -DNG=1 -DFLIPS=1 -DLIFE=0
run "$both" late-lease safety "$reader" -DM_LATE_LEASE -DNP=1 -DNS=1 -DNG=1 -DFLIPS=1 -DLATE -DLIFE=0
run "$both" no-heir safety "$reader" -DM_NO_HEIR -DNAMESAKE -DTTL=1 -DTWO -DNP=0 -DNR=1 -DNS=2 -DNG=1 -DFLIPS=2 -DSIMPLE -DLIFE=0 -DWAIT=0
run "$both" shared safety "$reader" -DM_SHARED -DNP=1 -DNS=1 -DNG=1 -DFLIPS=2 -DINCREMENTAL -DSIMPLE -DLIFE=0 -DWAIT=0
run "$both" entry-first safety 'fresh&named' -DM_FORGET -DNP=1 -DNS=0 -DNG=1 -DNI=1 -DFLIPS=3
run "$both" entry-any safety 'lake&named' -DM_REMOVE_ANY -DNP=1 -DNS=0 -DNG=2 -DNI=1 -DFLIPS=2
run "$both" sweep-listing safety 'named>>1' -DM_SWEEP_LISTING -DNP=1 -DNS=0 -DNG=1 -DNI=1 -DFLIPS=1
run "$both" name-reuse safety '~(named)' -DM_NAME_REUSE -DNP=1 -DNS=0 -DNG=2 -DNI=1 -DFLIPS=2
run "$both" part-drop safety 'refs[to]&~' -DM_PART_DROP -DPARTS -DNP=1 -DNR=1 -DNS=0 -DNG=1 -DFLIPS=3 -DSIMPLE -DLIFE=0 -DWAIT=0
run "$both" part-remove safety "$reader" -DM_PART_REMOVE -DPARTS -DNP=1 -DNS=1 -DNG=1 -DFLIPS=2 -DSIMPLE -DLIFE=0 -DWAIT=0
run "$both" no-resume live 'acceptancecycle' -DLIVE -DM_NO_RESUME -DNP=1 -DNS=1 -DNG=1 -DNI=1 -DFLIPS=1

if [[ $ran == 0 ]]; then
    echo "FAILED: no run of that name"
    bad=1
fi
exit $bad
