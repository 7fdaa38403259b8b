#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# arm64.sh [TARGET… | sysroot] - cross build for arm64 into build/arm64; what is built runs under qemu-user (e2e test arm64).
#
# TARGET: of the build; default the two programs; sysroot: only the folder of libraries, whose path is printed. Needs the packages of
# the section [arm64] of scripts/packages.txt. The libraries are the arm64 packages of the section [build], unpacked into
# build/arm64-sysroot by an apt of its own: nothing of another architecture is installed on this machine. DX_DEBIAN_MIRROR (http://deb.debian.org/debian). Exit 77: the packages cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

sysroot=$PWD/build/arm64-sysroot
apt=$PWD/build/arm64-apt
mirror=${DX_DEBIAN_MIRROR:-http://deb.debian.org/debian}
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")

not_here() {
    echo "arm64.sh: $*" >&2
    exit 77
}

own_apt() {
    APT_CONFIG=$apt/apt.conf apt-get -qq "$@"
}

# The compilers and commands of [build] are this machine's; a library's package ends with -dev.
libraries() {
    awk '/^\[/ { on = ($0 == "[build]") } on && /^[a-z0-9.+-]+-dev$/' scripts/packages.txt
}

# As if dpkg had installed it: dpkg-shlibdeps asks it for the packages of libraries when a package is made (scripts/package.sh). Files stand
# under the names that it meets them by.
note_package() {
    local of=$sysroot.new/var/lib/dpkg control name file
    control=$(mktemp -d)
    dpkg-deb --control "$1" "$control"
    name=$(dpkg-deb --field "$1" Package)
    [ "$(dpkg-deb --field "$1" Multi-Arch)" != same ] || name=$name:arm64
    { sed '/^Package:/a Status: install ok installed' "$control/control" && echo; } >>"$of/status"
    dpkg-deb --fsys-tarfile "$1" | tar -t | sed "s|^\./|$sysroot/|; s|/\$||" >"$of/info/$name.list"
    for file in symbols shlibs; do
        [ ! -e "$control/$file" ] || cp "$control/$file" "$of/info/$name.$file"
    done
    rm -r "$control"
}

# A link to /lib/… leads out of the folder; the linker then took the archive beside it (libm.a, which wants libc's private errno; libz.a).
links_inside() {
    find "$1" -type l -lname '/*' | while read -r link; do
        ln -snf "$(realpath -ms --relative-to="$(dirname "$link")" "$1$(readlink "$link")")" "$link"
    done
}

make_sysroot() {
    rm -rf "$apt" "$sysroot.new"
    mkdir -p "$apt"/{state/lists/partial,cache/archives/partial} "$sysroot.new"
    : >"$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$apt/sources.list"
    cat >"$apt/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "-";
Debug::NoLocking "true";
CONF
    own_apt update || not_here "no lists of arm64 packages from $mirror"
    # shellcheck disable=SC2046
    own_apt install --yes --download-only $(libraries) >/dev/null || not_here "no arm64 packages from $mirror"
    mkdir -p "$sysroot.new/var/lib/dpkg/info"
    echo 1 >"$sysroot.new/var/lib/dpkg/info/format" # names of lists have the architecture
    for deb in "$apt"/cache/archives/*.deb; do
        dpkg-deb --extract "$deb" "$sysroot.new"
        note_package "$deb"
    done
    links_inside "$sysroot.new"
    rm -rf "$sysroot" "$apt"
    mv "$sysroot.new" "$sysroot"
}

for program in aarch64-linux-gnu-gcc qemu-aarch64 dpkg-deb; do
    command -v "$program" >/dev/null || not_here "$program is not here: scripts/install_packages.sh arm64"
done
wanted=$suite" 3 "$(libraries | sha256sum)
if [ "$(cat build/arm64-sysroot/wanted 2>/dev/null)" != "$wanted" ]; then
    make_sysroot
    echo "$wanted" >"$sysroot/wanted"
fi
if [ "$*" = sysroot ]; then
    echo "$sysroot"
    exit
fi
export DX_ARM64_SYSROOT=$sysroot
cmake -S . -B build/arm64 -G Ninja --toolchain cmake/arm64.cmake -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDX_BENCH=OFF -DDX_TEST_TIMEOUT_S=7200 >build/arm64.log 2>&1 || {
    tail -n 20 build/arm64.log >&2
    exit 1
}
[ $# -gt 0 ] || set -- domaindex domaindexd
cmake --build build/arm64 -j "${JOBS:-$(nproc)}" --target "$@"
