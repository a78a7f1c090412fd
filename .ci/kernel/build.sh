#!/usr/bin/env bash
# Builds a kernel for the guests, once, and prints the path of its image.
#
#   .ci/kernel/build.sh 6.12      enable address (Debian's linux-source-6.12)
#   .ci/kernel/build.sh 6.1       status bit     (Debian's linux-source-6.1)
#   .ci/kernel/build.sh 6.1-byte  status byte    (6.1 with status-byte.patch)
#
# LINUX_SOURCE_6_12 and LINUX_SOURCE_6_1 name other tarballs to build from.
#
# Images are kept in ${XDG_CACHE_HOME:-~/.cache}/userevents-go/kernels, named by
# version and by a hash of source, configuration and patch. Both 6.1 images come
# out of one tree, since the second is a rebuild of one file.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/userevents-go/kernels
name=${1:-}
case $name in
  6.12 | 6.1 | 6.1-byte) version=${name%-byte} ;;
  *) echo "build.sh: no kernel '$name': there are 6.12, 6.1 and 6.1-byte" >&2; exit 1 ;;
esac
variable=LINUX_SOURCE_${version//./_}
tarball=${!variable:-/usr/src/linux-source-$version.tar.xz}
[ -r "$tarball" ] || { echo "build.sh: $tarball is missing: make deps installs it" >&2; exit 1; }

# Hashing the tarball itself would take a second each time.
source_id=$(stat -Lc '%s %Y' "$tarball")
image_of() { # NAME
  local parts=("$here/kernel.config")
  [ "${1%-byte}" = "$1" ] || parts+=("$here/status-byte.patch")
  printf '%s/%s-%s.bzImage' "$cache" "$1" "$( { echo "$source_id"; cat "${parts[@]}"; } | sha256sum | cut -c1-16)"
}

image=$(image_of "$name")
if [ ! -s "$image" ]; then
  mkdir -p "$cache"
  exec 9>"$cache/.lock-$version"
  flock 9 # a second caller waits for the first one's kernel
fi
if [ ! -s "$image" ]; then
  tree=$(mktemp -d "$cache/.build-$version.XXXXXX")
  trap 'rm -rf "$tree"' EXIT
  log=$cache/$name.log
  logged() { "$@" >>"$log" 2>&1 || { tail -n 40 "$log" >&2; echo "build.sh: $* failed, see $log" >&2; exit 1; }; }
  build() { # NAME: builds the tree as it is and files the image
    echo "building kernel $1 (minutes; log: $log)" >&2
    logged make -C "$tree" -j"$(nproc)" bzImage
    cp "$tree/arch/x86/boot/bzImage" "$(image_of "$1").new"
    mv "$(image_of "$1").new" "$(image_of "$1")"
  }
  : >"$log"
  logged tar -C "$tree" --strip-components=1 -xf "$tarball"
  logged make -C "$tree" tinyconfig
  (cd "$tree" && logged scripts/kconfig/merge_config.sh -m .config "$here/kernel.config")
  logged make -C "$tree" olddefconfig
  # Kconfig drops in silence what lacks a dependency. Kprobes and the BPF JIT may go, see kernel.config.
  while read -r want; do
    grep -qxF "$want" "$tree/.config" || { echo "build.sh: $want did not survive olddefconfig, see $log" >&2; exit 1; }
  done < <(grep -x 'CONFIG_.*=y' "$here/kernel.config" | grep -vE 'CONFIG_(KPROBES|BPF_JIT)=')
  build "$version"
  if [ "$version" = 6.1 ]; then
    logged patch -d "$tree" -p1 -i "$here/status-byte.patch"
    build 6.1-byte
  fi
fi
echo "$image"
