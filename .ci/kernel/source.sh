#!/usr/bin/env bash
# Prints the path of the tarball that a kernel is built from, and on a second line
# where it comes from. Fetches it from Debian's archive if it is not in the cache.
#
#   .ci/kernel/source.sh 6.12
#
# LINUX_SOURCE_6_12, LINUX_SOURCE_6_1 and LINUX_SOURCE_7_3 name other tarballs.
# An archive keeps a version for a while only: once it has no linux-source-7.3 any
# more, 7.3 stands for the newest that there is, which the second line says.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
version=$1
variable=LINUX_SOURCE_${version//./_}
if [ -n "${!variable:-}" ]; then
  [ -r "${!variable}" ] || { echo "source.sh: cannot read $variable=${!variable}" >&2; exit 1; }
  printf '%s\n%s\n' "${!variable}" "${!variable##*/}"
  exit
fi

folder=${XDG_CACHE_HOME:-$HOME/.cache}/userevents-go/sources/$version
status=0
case $version in
  6.1) "$here/debian.sh" "$folder" 'bookworm-security bookworm' linux-source-6.1 || status=$? ;;
  6.12) "$here/debian.sh" "$folder" 'trixie-security trixie bookworm-security' linux-source-6.12 || status=$? ;;
  7.3)
    "$here/debian.sh" "$folder" trixie-backports linux-source-7.3 || status=$?
    if [ $status = 3 ]; then
      status=0
      "$here/debian.sh" "$folder" 'trixie-backports unstable' 'linux-source-*' || status=$?
    fi
    ;;
esac
[ $status = 0 ] || { echo "source.sh: cannot fetch Linux $version: set $variable to a tarball, for example from https://cdn.kernel.org/pub/linux/kernel" >&2; exit 1; }
echo "$folder"/usr/src/linux-source-*.tar.xz
echo "Debian $(cat "$folder/packages")"
