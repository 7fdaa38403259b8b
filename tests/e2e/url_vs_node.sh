#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# labels: slow long
# url_vs_node.sh DOMAINDEX - `normalize` against node's URL parser, over real lists of URLs.
#
# Lists: $DX_SHARED_DATA/lists, else ../shared/data/lists beside the source folder.
# Exit 77 (skipped) without node or without the lists. Needs zstd and about 1 GB of memory.
set -eu

program=${1:?usage: url_vs_node.sh PATH_OF_DOMAINDEX}
here=$(cd "$(dirname "$0")" && pwd)
data=${DX_SHARED_DATA:-$here/../../../shared/data}
lists=$data/lists

skip() {
    echo "SKIPPED url_vs_node: $1"
    exit 77
}
command -v node >/dev/null 2>&1 || skip "node is not installed"
command -v zstd >/dev/null 2>&1 || skip "zstd is not installed"
[ -d "$lists" ] || skip "no lists in $lists"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# compare NAME FILE COLUMN: the COLUMN-th tab-separated field of each line is a URL
compare() {
    if [ ! -f "$lists/$2" ]; then
        echo "no $lists/$2: list passed over"
        return 0
    fi
    zstd -dcq "$lists/$2" | cut -f "$3" >"$folder/$1"
    "$program" normalize <"$folder/$1" >"$folder/ours"
    node --max-old-space-size=4096 "$here/url_vs_node.js" "$folder/$1" "$folder/ours" || failed=1
    rm -f "$folder/$1"
}

compare kasztp ada-url-various-datasets/kasztp.txt.zst 1
compare node_files ada-url-various-datasets/node_files.txt.zst 1
compare smallweb kagi-smallweb/urls.txt.zst 1
compare scoop scoop-extras/urls.tsv.zst 3
compare debian debian-sources/urls.tsv.zst 3
compare npm npm-package-repos/repos-A.tsv.zst 3
compare maltrail maltrail/trails-A.tsv.zst 3
compare reddit reddit-top-2.5-million/posts-A.tsv.zst 3
exit "$failed"
