#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# web_tools.sh - the npm packages of web/package-lock.json: what builds the page, drives a browser and checks accessibility.
#
# Makes build/web-tools/node_modules with "npm ci" and prints that folder. Exit 77: it cannot be had here (no npm, no
# registry), and the tests that need it are to be reported as skipped.
set -eu
cd "$(dirname "$0")/.."

tools=$PWD/build/web-tools
mkdir -p build
exec 9> build/.web-tools.lock
flock 9
if ! cmp -s web/package-lock.json "$tools/done"; then
    command -v npm >/dev/null || {
        echo "SKIPPED: npm is not installed" >&2
        exit 77
    }
    mkdir -p "$tools"
    rm -f "$tools/done"
    cp web/package.json web/package-lock.json "$tools"
    (cd "$tools" && npm ci --no-audit --no-fund --loglevel=error) >&2 || {
        echo "SKIPPED: the packages of web/package-lock.json cannot be had from npm" >&2
        exit 77
    }
    cp web/package-lock.json "$tools/done"
fi
echo "$tools"
