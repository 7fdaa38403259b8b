#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cdx_clients.sh - a Python environment with clients of CDX servers (pywb, cdx_toolkit, wayback, waybackpy).
#
# Makes build/cdx-clients from the pinned tests/e2e/requirements-cdx.txt and prints the path of its python, as
# scripts/python_env.sh does. DX_CDX_PYTHON names one that is there already.
set -eu
cd "$(dirname "$0")/.."

if [ -n "${DX_CDX_PYTHON:-}" ]; then
    echo "$DX_CDX_PYTHON"
    exit 0
fi
exec scripts/python_env.sh cdx-clients requirements-cdx
