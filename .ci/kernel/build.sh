#!/bin/sh
# Builds a kernel for the guests, once, and prints the path of its image.
#
#   .ci/kernel/build.sh 6.1-byte    status byte (6.1 with status-byte.patch)
#   .ci/kernel/build.sh 6.1         status bit
#   .ci/kernel/build.sh 6.12        enable address
#   .ci/kernel/build.sh 7.3         the newest stable release
#   .ci/kernel/build.sh 6.12-arm64  another processor
#   .ci/kernel/build.sh 6.12-uml    a kernel that is a program of the host
#   .ci/kernel/build.sh -version NAME  builds it too, but prints its exact version
#   .ci/kernel/build.sh -built NAME    builds nothing: without an image it fails, and says so
#
# The sources are Debian's, see source.sh. Images are kept in
# ${XDG_CACHE_HOME:-~/.cache}/userevents-go/kernels, named by a hash of
# configuration, patches and the tarball that a variable names. Both 6.1 images come out
# of one tree, since the second is a rebuild of one file.
#
# -built needs a POSIX shell and its utilities, or busybox; the rest what make deps installs.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/userevents-go/kernels
fail() { echo "build.sh: $1" >&2; exit 1; }
mode=
case ${1:-} in -version | -built) mode=$1; shift ;; esac
name=${1:-}
case $name in
  6.1-byte | 6.1 | 6.12 | 7.3) arch=x86 target=bzImage cross= folders=xu ;;
  6.12-arm64) arch=arm64 target=Image cross=aarch64-linux-gnu- folders=axu ;;
  6.12-uml) arch=um target=linux cross= folders=xu ;;
  *) fail "no kernel '$name': there are 6.1-byte, 6.1, 6.12, 7.3, 6.12-arm64 and 6.12-uml" ;;
esac
version=${name%-*}

# The fragments of the configuration. Of an option that several set, the last one holds.
fragments() {
  for fragment in kernel "$version" "$arch"; do
    [ ! -e "$here/$fragment.config" ] || cat "$here/$fragment.config"
  done
}
# named_source prints the tarball that a variable names, its size and its time.
named_source() {
  eval "tarball=\${LINUX_SOURCE_$(echo "$version" | tr . _):-}"
  [ -z "$tarball" ] || stat -Lc '%n %s %Y' "$tarball"
}
image_of() { # NAME
  sum=$({
    fragments
    named_source
    case $1 in
      *-byte) cat "$here/status-byte.patch" ;;
      *-uml) cat "$here/um.patch" ;;
    esac
  } | sha256sum | cut -c1-16)
  echo "$cache/$1-$sum.$target"
}
found() { # prints what the caller asked for
  case $mode in
    -version) cat "$image.version" ;;
    *) echo "$image" ;;
  esac
  exit
}

image=$(image_of "$name")
[ ! -s "$image" ] || found
[ "$mode" != -built ] || fail "kernel $name of this checkout is not built, $image is missing: make kernels"

case $arch-$(uname -m) in um-x86_64 | [!u]*) ;; *) fail "User Mode Linux runs on x86-64 only" ;; esac
source=$("$here/source.sh" "$version") # two lines: the tarball, and where it comes from
tarball=$(echo "$source" | head -n 1)
mkdir -p "$cache"
exec 9>"$cache/.lock-${name%-byte}"
flock 9 # a second caller waits for the first one's kernel
[ ! -s "$image" ] || found

tree=$cache/.build-${name%-byte}
case $tree in *[[:space:]:]*) tree=$(mktemp -d) ;; esac # which kernels refuse
trap 'rm -rf "$tree"' EXIT
trap 'exit 1' HUP INT TERM
rm -rf "$tree" # of a build that was killed
mkdir "$tree"

log=$cache/$name.log
logged() { "$@" >>"$log" 2>&1 || { tail -n 40 "$log" >&2; fail "$* failed, see $log"; }; }
kbuild() { logged make -C "$tree" -j"$(nproc)" ARCH="$arch" CROSS_COMPILE="$cross" "$@"; }
build() { # NAME: builds the tree as it is and files the image
  echo "building kernel $1 (minutes; log: $log)" >&2
  kbuild "$target"
  built=$(image_of "$1")
  echo "Linux $(make -s -C "$tree" ARCH="$arch" CROSS_COMPILE="$cross" kernelrelease) ($(echo "$source" | tail -n 1))" >"$built.version"
  cp "$(find "$tree/$target" "$tree/arch/$arch/boot/$target" -type f 2>/dev/null)" "$built.new"
  mv "$built.new" "$built"
}
# unpack leaves out the sources of other processors, documents, tests, and drivers of which a configuration reads Kconfig and
# Makefile only.
unpack() {
  set -- "*/arch/[!$folders]*/*.[chS]" '*/arch/*.dts' '*/arch/*.dtsi' '*/Documentation/*/*' '*/tools/testing/*' '*/tools/perf/*' '*/sound/*.[ch]'
  for driver in accel crypto gpu hwmon iio infiniband md media mtd net/ethernet net/wireless scsi staging usb; do
    set -- "$@" "*/drivers/$driver/*.[ch]"
  done
  for pattern; do
    shift
    set -- "$@" "--exclude=$pattern"
  done
  logged env XZ_DEFAULTS=-T0 tar -C "$tree" --strip-components=1 --wildcards "$@" -xf "$tarball"
}

: >"$log"
unpack
for folder in gpu media; do : >"$tree/drivers/$folder/Makefile"; done # make would visit a hundred folders in vain
[ "$arch" != um ] || logged patch -d "$tree" -p1 -i "$here/um.patch"
kbuild tinyconfig
fragments >>"$tree/.config"
kbuild olddefconfig
# Kconfig drops in silence what lacks a dependency.
fragments | awk -F = '/^CONFIG_/ { value[$1] = $2 } END { for (o in value) if (value[o] == "y") print o "=y" }' >"$tree/wanted"
lost=$(grep -vxFf "$tree/.config" "$tree/wanted") && fail "$lost did not survive olddefconfig, see $log"
build "${name%-byte}"
if [ "$version" = 6.1 ]; then
  logged patch -d "$tree" -p1 -i "$here/status-byte.patch"
  build 6.1-byte
fi
found
