#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# package.sh [--arch arm64] [tarball | deb | sbom | image]… - what is released, of the committed tree, into build/packages/.
#
#   tarball   domaindex-VERSION.tar.gz: the sources; the same commit gives the same bytes
#   deb       domaindex, domaindexd, libdomaindex1 and libdomaindex-dev, built from the tarball; lintian finds nothing
#   sbom      domaindex-VERSION.spdx.json: the libraries that the programs of the deb load and what the page is made of
#   image     domaindexd-VERSION.oci.tar: an OCI image of the server, on Debian 12, made from the deb (needs mmdebstrap and buildah)
#
# sbom and image make the deb as well, unless it was among the parts before them: one that is there may be of another commit.
#
# --arch arm64: packages of that architecture, made here by the cross compiler (scripts/arm64.sh); manuals are printed under qemu-user.
#
# Without parts: tarball, deb and sbom; for another architecture deb. Installs the packages that it needs (scripts/packages.txt, [package]).
set -euo pipefail
cd "$(dirname "$0")/.."

out=$PWD/build/packages
work=$out/work
version=$(sed -n 's/^project(domaindex VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)$(sed -n 's/^set(DX_VERSION_SUFFIX "\(.*\)")$/\1/p' CMakeLists.txt)
debian_version=${version/-rc/\~rc}-1
name=domaindex-$version
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

arch=$(dpkg --print-architecture)
if [ "${1:-}" = --arch ]; then
    arch=${2:-}
    shift 2
fi
parts=("$@")
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
    [ "$arch" = arm64 ] || { echo "package.sh: --arch: arm64, or none for this machine's" >&2 && exit 2; }
    [ $# -gt 0 ] || parts=(deb)
    [ "${parts[*]}" = deb ] || { echo "package.sh: --arch $arch: deb only" >&2 && exit 2; }
fi
[ ${#parts[@]} -gt 0 ] || parts=(tarball deb sbom)
for part in "${parts[@]}"; do
    case $part in
    tarball | deb | sbom | image) ;;
    *)
        echo "package.sh: unknown part '$part'; there are: tarball, deb, sbom, image" >&2
        exit 2
        ;;
    esac
done
[ -z "$(git status --porcelain --untracked-files=no)" ] ||
    echo "package.sh: uncommitted changes are left out: the packages are of $(git log -1 --format=%h)" >&2

make_tarball() {
    git archive --format=tar --prefix="$name/" HEAD | gzip -n -9 >"$out/$name.tar.gz.new"
    mv "$out/$name.tar.gz.new" "$out/$name.tar.gz"
    tarball_is_made=1
    echo "$out/$name.tar.gz"
}

make_deb() {
    local tree=$work/$name deb cross=()
    if [ "$arch" = arm64 ]; then
        DX_ARM64_SYSROOT=$(scripts/arm64.sh sysroot) || return
        export DX_ARM64_SYSROOT
        cross=(-d --host-arch arm64 -Pcross,nocheck)
    fi
    [ -n "${tarball_is_made:-}" ] || make_tarball # one from before may be of another commit
    rm -rf "$work"
    mkdir -p "$work"
    tar -xzf "$out/$name.tar.gz" -C "$work"
    cp -r "$tree/packaging/debian" "$tree/debian"
    rm "$tree/debian/README.md"
    cat >"$tree/debian/changelog" <<EOF
domaindex ($debian_version) unstable; urgency=medium

  * Commit $(git log -1 --format=%h). CHANGELOG.md says what changed.

 -- $(sed -n 's/^Maintainer: //p' "$tree/debian/control")  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
EOF
    (cd "$tree" && DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)" dpkg-buildpackage -us -uc -b "${cross[@]}") >"$out/deb-build.log" 2>&1 || {
        tail -n 40 "$out/deb-build.log" >&2
        echo "package.sh: dpkg-buildpackage failed; $out/deb-build.log has all of it" >&2
        return 1
    }
    for deb in "$work"/*.deb; do
        mv "$deb" "$out/"
        echo "$out/${deb##*/}"
    done
    deb_is_made=1
    # One tag is about uploads to Debian; the other about a name that documents link to.
    lintian --allow-root --suppress-tags initial-upload-closes-no-bugs,wrong-name-for-upstream-changelog --fail-on error,warning "$out"/*_"${debian_version}_$arch".deb
    rm -rf "$work"
}

make_sbom() {
    local package
    [ -n "${deb_is_made:-}" ] || make_deb
    rm -rf "$work"
    mkdir -p "$work"
    tar -xzf "$out/$name.tar.gz" -C "$work"
    for package in domaindex domaindexd; do
        dpkg-deb -x "$out/${package}_${debian_version}_$arch.deb" "$work/root"
    done
    python3 "$work/$name/scripts/sbom.py" "$version" "$(git log -1 --format=%cI)" "$work/root/usr/libexec/domaindex/domaindex" \
        "$work/root/usr/bin/domaindexd" >"$out/$name.spdx.json.new"
    mv "$out/$name.spdx.json.new" "$out/$name.spdx.json"
    rm -rf "$work"
    echo "$out/$name.spdx.json"
}

# The root is Debian's, made by mmdebstrap with the server's package in it; the image is described by
# packaging/image/Containerfile, which only adds that root and says how it runs.
make_image() {
    local root=$work/root.tar deb
    [ -n "${deb_is_made:-}" ] || make_deb
    rm -rf "$work"
    mkdir -p "$work"
    git show HEAD:packaging/image/Containerfile >"$work/Containerfile"
    # apt reads the package outside of the root and dpkg inside, by one path: none that says where this tree is.
    debs=$(mktemp -d /tmp/domaindex-image.XXXXXX)
    trap 'rm -rf "$debs"' EXIT
    chmod 755 "$debs"
    deb=$debs/domaindexd.deb
    cp "$out/domaindexd_${debian_version}_$arch.deb" "$deb"
    mmdebstrap --quiet --variant=essential --include="ca-certificates,$deb" --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --customize-hook='rm -rf "$1"/var/cache/apt "$1"/var/lib/apt/lists/*' \
        --setup-hook="mkdir -p \"\$1$debs\" && cp '$deb' \"\$1$deb\"" --customize-hook="rm -rf \"\$1$debs\"" \
        bookworm "$root" "${DX_DEBIAN_MIRROR:-http://deb.debian.org/debian}"
    buildah bud --isolation chroot --format oci --timestamp "$SOURCE_DATE_EPOCH" --file "$work/Containerfile" \
        --tag "domaindexd:$version" "$work"
    buildah push "domaindexd:$version" "oci-archive:$out/domaindexd-$version.oci.tar"
    rm -rf "$work"
    echo "$out/domaindexd-$version.oci.tar"
}

if [ "$arch" = arm64 ]; then
    scripts/install_packages.sh build package arm64
else
    scripts/install_packages.sh build package
fi
mkdir -p "$out"
for part in "${parts[@]}"; do
    "make_$part"
done
