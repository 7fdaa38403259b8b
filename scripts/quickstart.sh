#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# quickstart.sh [--no-serve] - from a fresh Debian 12 to answers, with real input.
#
# Installs the packages that are missing, builds, takes the home pages of all packages that
# this machine's package lists know (one dataset for each section of the archive), makes a lake
# and an index of them in ./quickstart-root, shows three requests with their answers, and
# serves on 127.0.0.1:8080 until Ctrl-C. It can be run again: the root is rebuilt.
#
#   --no-serve   stop the server after the three requests
#   DX_LISTEN    another address, for example DX_LISTEN=127.0.0.1:9000 (port 0: any free one)
#   DX_ROOT      another folder than ./quickstart-root
set -euo pipefail
cd "$(dirname "$0")/.."

serve=1
case "${1:-}" in
--no-serve) serve= ;;
-h | --help)
    sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
    exit 0
    ;;
'') ;;
*)
    echo "quickstart.sh: unknown argument '$1' (there is --no-serve)" >&2
    exit 2
    ;;
esac
root=${DX_ROOT:-quickstart-root}
listen=${DX_LISTEN:-127.0.0.1:8080}
[ -n "$serve" ] || listen=127.0.0.1:0
bin=${DX_BIN_DIR:-build/release}
server= tailer=

say() { printf '\n== %s\n' "$*"; }
die() {
    printf 'quickstart.sh: %s\n' "$*" >&2
    exit 1
}
cleanup() {
    [ -z "$tailer" ] || kill "$tailer" 2>/dev/null || true
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
}
trap cleanup EXIT

port=${listen##*:}
if [ "$port" != 0 ] && (exec 3<>"/dev/tcp/${listen%:*}/$port") 2>/dev/null; then
    die "$listen is taken by another program. Stop it, or choose another address:
    DX_LISTEN=127.0.0.1:9000 scripts/quickstart.sh"
fi

if [ -z "${DX_BIN_DIR:-}" ]; then
    say "packages"
    scripts/install_packages.sh build
    say "build"
    mkdir -p build
    cmake --preset release >build/quickstart.log 2>&1 &&
        cmake --build --preset release --target domaindex domaindexd >>build/quickstart.log 2>&1 || {
        tail -n 40 build/quickstart.log >&2
        die "the build failed; all of its output is in build/quickstart.log"
    }
    echo "build/release/domaindex, build/release/domaindexd"
fi

say "input: home pages in this machine's package lists"
homepages() {
    apt-cache dumpavail | awk '
        BEGIN { RS = ""; FS = "\n"; OFS = "\t" }
        {
            package = section = url = ""
            for (i = 1; i <= NF; i++) {
                if ($i ~ /^Package: /) package = substr($i, 10)
                else if ($i ~ /^Section: /) section = substr($i, 10)
                else if ($i ~ /^Homepage: /) url = substr($i, 11)
            }
            gsub(/\t/, " ", url)
            if (section != "" && url != "") print section, url, package
        }'
}
mkdir -p "$(dirname "$root")"
input=$(mktemp)
trap 'rm -f "$input"; cleanup' EXIT
homepages >"$input"
if [ "$(wc -l <"$input")" -lt 1000 ]; then
    # No package lists, as in a new container.
    if [ "$(id -u)" -eq 0 ]; then
        apt-get -q update
    elif command -v sudo >/dev/null; then
        sudo apt-get -q update
    else
        die "this machine has no package lists; as root run: apt-get update"
    fi
    homepages >"$input"
fi
[ -s "$input" ] || die "the package lists of this machine name no home pages"
echo "$(wc -l <"$input") records, $(cut -f1 "$input" | sort -u | wc -l) sections"

# Only a root that an earlier run of this script made is thrown away.
if [ -e "$root" ]; then
    [ -e "$root/.quickstart" ] || die "$root is there, and not from this script; move it away, or set DX_ROOT"
    rm -rf "$root"
fi
mkdir -p "$root"
echo "made by scripts/quickstart.sh, which will delete and remake this folder" >"$root/.quickstart"
{
    printf 'section\turl\tpackage\n'
    cat "$input"
} >"$root/homepages.tsv"

say "ingest and publish"
run() {
    printf '$'
    printf ' %s' "$@"
    printf '\n'
    "$@"
}
run "$bin/domaindex" ingest --root "$root" --format tsv --dataset-column section \
    --url-column url --extra-column package "$root/homepages.tsv"
run "$bin/domaindex" publish --root "$root"

log=$(mktemp)
trap 'rm -f "$input" "$log"; cleanup' EXIT
"$bin/domaindexd" --root "$root" --listen "$listen" --web yes >"$log" 2>&1 &
server=$!
address=$listen
for _ in $(seq 300); do
    if ! kill -0 "$server" 2>/dev/null; then
        cat "$log" >&2
        die "the server did not start (see above)"
    fi
    [ "$port" != 0 ] || address=$(sed -n 's/.*\(127\.0\.0\.1:[1-9][0-9]*\).*/\1/p' "$log" | head -n 1)
    [ -z "$address" ] || ! curl -fsS -o /dev/null "http://$address/readyz" 2>/dev/null || break
    sleep 0.1
done
curl -fsS -o /dev/null "http://$address/readyz" || die "the server does not get ready"

# A request and the begin of its answer, an item a line.
show() { # PATH
    local answer
    local quote=
    [[ $1 != *[\&?]* ]] || quote="'"
    printf '\n$ curl %shttp://%s%s%s\n' "$quote" "$address" "$1" "$quote"
    answer=$(curl -sS "http://$address$1" | sed 's/},[ ]*{/},\n  {/g; s/\[{/[\n  {/')
    printf '%s\n' "$answer" | awk '
        NR <= 7 { print (length($0) > 400 ? substr($0, 1, 400) "…" : $0) }
        END { if (NR > 7) printf "  … %d more\n", NR - 7 }'
}
answer=$(curl -fsS "http://$address/v1/domain/github.com")
dataset=$(printf '%s\n' "$answer" | grep -o '"dataset_id": *[0-9]*, *"name": *"[^"]*games"' |
    grep -o '[0-9]\+' | head -n 1)
: "${dataset:=$(printf '%s\n' "$answer" | grep -o '"dataset_id": *[0-9]*' | grep -o '[0-9]*$' | head -n 1)}"
say "three requests to try (in another terminal), with their answers"
show /v1/domain/github.com
show "/v1/domain/github.com/datasets/$dataset/urls?limit=5&fields=url,extras"
show /v1/domain/no-such-site.example
if [ -z "$serve" ]; then
    kill "$server"
    wait "$server" || die "the server did not stop cleanly"
    server=
    say "done; the server is stopped. To serve this root: $bin/domaindexd --root $root"
    exit 0
fi
say "serving on http://$address (Ctrl-C ends it); more requests: docs/API.md"
say "open http://$address/"
tail -n +1 -f "$log" --pid="$server" &
tailer=$!
wait "$server"
