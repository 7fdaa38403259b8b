#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spectral.sh - the linter of OpenAPI documents, in build/spectral; prints the path of the program.
#
# Exit 77: it cannot be had here (no npm, no registry), and the test openapi_clients says so.
set -eu
cd "$(dirname "$0")/.."

version=6.15.0
folder=$PWD/build/spectral
mkdir -p build
exec 9> build/.spectral.lock
flock 9
if ! cmp -s "$folder/version" - <<EOF
$version
EOF
then
    command -v npm >/dev/null || {
        echo "SKIPPED: spectral needs npm" >&2
        exit 77
    }
    mkdir -p "$folder"
    npm install --no-audit --no-fund --ignore-scripts --silent --prefix "$folder" "@stoplight/spectral-cli@$version" >&2 || {
        echo "SKIPPED: @stoplight/spectral-cli $version cannot be had from the npm registry" >&2
        exit 77
    }
    echo "$version" >"$folder/version"
fi
echo "$folder/node_modules/.bin/spectral"
