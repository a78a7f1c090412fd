#!/usr/bin/env bash
# Builds a kernel for the guests, once, and prints the path of its image.
#
#   .ci/kernel/build.sh 6.1-byte    status byte (6.1 with status-byte.patch)
#   .ci/kernel/build.sh 6.1         status bit
#   .ci/kernel/build.sh 6.12        enable address
#   .ci/kernel/build.sh 7.3         the newest stable release
#   .ci/kernel/build.sh 6.12-arm64  another processor
#   .ci/kernel/build.sh 7.3-uml     a kernel that is a program of the host
#   .ci/kernel/build.sh -version NAME  builds it too, but prints its exact version
#
# The sources are Debian's, see source.sh. Images are kept in
# ${XDG_CACHE_HOME:-~/.cache}/userevents-go/kernels, named by a hash of source,
# configuration and patches. Both 6.1 images come out of one tree, since the second is
# a rebuild of one file.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/userevents-go/kernels
print=echo
[ "${1:-}" != -version ] || { print=version_of; shift; }
version_of() { cat "$1.version"; }
name=${1:-}
case $name in
  6.1-byte | 6.1 | 6.12 | 7.3) arch=x86 target=bzImage cross= ;;
  6.12-arm64) arch=arm64 target=Image cross=aarch64-linux-gnu- ;;
  7.3-uml) arch=um target=linux cross= ;;
  *) echo "build.sh: no kernel '$name': there are 6.1-byte, 6.1, 6.12, 7.3, 6.12-arm64 and 7.3-uml" >&2; exit 1 ;;
esac
version=${name%-*}
source=$("$here/source.sh" "$version")
{ read -r tarball; read -r origin; } <<<"$source"

fragments=("$here/kernel.config")
for fragment in "$here/$version.config" "$here/$arch.config"; do
  [ ! -e "$fragment" ] || fragments+=("$fragment")
done
# Hashing the tarball itself would take a second each time.
source_id=$(stat -Lc '%s %Y' "$tarball")
image_of() { # NAME
  local parts=("${fragments[@]}")
  case $1 in
    *-byte) parts+=("$here/status-byte.patch") ;;
    *-uml) parts+=("$here/uml-perf.patch") ;;
  esac
  printf '%s/%s-%s.%s' "$cache" "$1" "$( { echo "$source_id"; cat "${parts[@]}"; } | sha256sum | cut -c1-16)" "$target"
}

image=$(image_of "$name")
if [ ! -s "$image" ]; then
  mkdir -p "$cache"
  exec 9>"$cache/.lock-${name%-byte}"
  flock 9 # a second caller waits for the first one's kernel
fi
if [ ! -s "$image" ]; then
  tree=$(mktemp -d "$cache/.build-${name%-byte}.XXXXXX")
  trap 'rm -rf "$tree"' EXIT
  log=$cache/$name.log
  logged() { "$@" >>"$log" 2>&1 || { tail -n 40 "$log" >&2; echo "build.sh: $* failed, see $log" >&2; exit 1; }; }
  kbuild() { logged make -C "$tree" -j"$(nproc)" ARCH="$arch" CROSS_COMPILE="$cross" "$@"; }
  build() { # NAME: builds the tree as it is and files the image
    local image
    image=$(image_of "$1")
    echo "building kernel $1 (minutes; log: $log)" >&2
    kbuild "$target"
    echo "Linux $(make -s -C "$tree" ARCH="$arch" CROSS_COMPILE="$cross" kernelrelease) ($origin)" >"$image.version"
    cp "$(find "$tree/$target" "$tree/arch/$arch/boot/$target" -type f 2>/dev/null)" "$image.new"
    mv "$image.new" "$image"
  }
  : >"$log"
  # Sources of drivers, of which configurations read Kconfig and Makefile only.
  logged tar -C "$tree" --strip-components=1 --wildcards --exclude='*/drivers/'{gpu,net/ethernet,net/wireless,media,scsi,staging,infiniband,iio}'/*.[ch]' --exclude='*/sound/*.[ch]' -xf "$tarball"
  [ "$arch" != um ] || logged patch -d "$tree" -p1 -i "$here/uml-perf.patch"
  kbuild tinyconfig
  (cd "$tree" && logged scripts/kconfig/merge_config.sh -m .config "${fragments[@]}")
  kbuild olddefconfig
  # Kconfig drops in silence what lacks a dependency. Of an option that several
  # fragments set, the last one holds.
  while read -r want; do
    grep -qxF "$want" "$tree/.config" || { echo "build.sh: $want did not survive olddefconfig, see $log" >&2; exit 1; }
  done < <(cat "${fragments[@]}" | awk -F = '/^CONFIG_/ { value[$1] = $2 } END { for (o in value) if (value[o] == "y") print o "=y" }')
  build "${name%-byte}"
  if [ "$version" = 6.1 ]; then
    logged patch -d "$tree" -p1 -i "$here/status-byte.patch"
    build 6.1-byte
  fi
fi
"$print" "$image"
