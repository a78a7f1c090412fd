#!/usr/bin/env bash
# Builds a kernel for the guests, once, and prints the path of its image.
#
#   .ci/kernel/build.sh 6.12      enable address (Debian's linux-source-6.12)
#   .ci/kernel/build.sh 6.1       status bit     (Debian's linux-source-6.1)
#   .ci/kernel/build.sh 6.1-byte  status byte    (6.1 with status-byte.patch)
#
# Images are kept in ${XDG_CACHE_HOME:-~/.cache}/userevents-go/kernels, named by
# version and by a hash of source, configuration and patch. Both 6.1 images come out of one tree,
# since the second is a rebuild of one file.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/userevents-go/kernels
name=${1:?usage: build.sh 6.12|6.1|6.1-byte}
version=${name%-byte}
tarball=/usr/src/linux-source-$version.tar.xz
[ -r "$tarball" ] || { echo "build.sh: $tarball is missing: install linux-source-$version (make deps)" >&2; exit 1; }

# The tarball's own hash would take seconds; the package version says the same.
source_id=$(dpkg-query -W -f '${Version}' "linux-source-$version")
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
  build() { # NAME: builds the tree as it is and files the image
    echo "building kernel $1 (minutes; log: $log)" >&2
    make -C "$tree" -j"$(nproc)" bzImage >>"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }
    cp "$tree/arch/x86/boot/bzImage" "$(image_of "$1").new"
    mv "$(image_of "$1").new" "$(image_of "$1")"
  }
  : >"$log"
  tar -C "$tree" --strip-components=1 -xf "$tarball"
  (cd "$tree" && make tinyconfig && scripts/kconfig/merge_config.sh -m .config "$here/kernel.config" && make olddefconfig) >>"$log" 2>&1
  for want in USER_EVENTS UPROBE_EVENTS HIST_TRIGGERS SECURITY_LOCKDOWN_LSM SECURITY_APPARMOR; do
    grep -q "^CONFIG_$want=y" "$tree/.config" || { echo "build.sh: CONFIG_$want did not survive olddefconfig, see $log" >&2; exit 1; }
  done
  build "$version"
  if [ "$version" = 6.1 ]; then
    patch -d "$tree" -p1 <"$here/status-byte.patch" >>"$log"
    build 6.1-byte
  fi
fi
echo "$image"
