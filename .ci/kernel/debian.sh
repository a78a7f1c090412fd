#!/usr/bin/env bash
# Unpacks packages of the Debian archive into a folder, once, on any machine that has apt.
#
#   .ci/kernel/debian.sh FOLDER 'SUITE...' PACKAGE...
#
# Takes the newest version that the suites have. A PACKAGE that ends in * is the package
# with the highest version in its name. FOLDER/packages then lists names and versions.
# Exit status 3: all suites were read, and none has such a package.
#
# apt verifies all of it against the keys of debian-archive-keyring. It runs without
# root and with sources, lists and caches of its own, so that the machine's package
# configuration neither matters nor changes. An interrupted download is continued.
#
# DEBIAN_MIRROR and DEBIAN_SECURITY_MIRROR name the archives; without them they are
# those that the machine itself uses, or deb.debian.org.
set -euo pipefail

folder=$1
read -ra suites <<<"$2"
packages=("${@:3}")
[ ! -e "$folder" ] || exit 0

fail() { echo "debian.sh: $1" >&2; exit "${2:-1}"; }
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
command -v apt-get >/dev/null || fail "apt-get is missing: this is neither Debian nor Ubuntu"
[ -r "$keyring" ] || fail "$keyring is missing: make deps installs it"

mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9 # a second caller waits for the first one's download
[ ! -e "$folder" ] || exit 0

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
archive() { # LABEL: the archive that the machine uses
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Label: $1" | grep -m 1 '^http' || true
}
mirror=${DEBIAN_MIRROR:-$(archive Debian)}
security=${DEBIAN_SECURITY_MIRROR:-$(archive Debian-Security)}
for suite in "${suites[@]}"; do
  case $suite in
    *-security) uri=${security:-http://deb.debian.org/debian-security} ;;
    *) uri=${mirror:-http://deb.debian.org/debian} ;;
  esac
  echo "deb [signed-by=$keyring target=Packages] $uri $suite main"
done >"$state/sources.list"

# Read after the machine's apt.conf, of which proxies and timeouts should hold.
cat >"$state/apt.conf" <<EOF
Dir::Etc::sourcelist "$state/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$state";
Dir::State::lists "$state/lists";
Dir::State::status "/dev/null";
Dir::Cache "$state/cache";
APT::Default-Release "";
APT::Update::Error-Mode "any";
APT::Sandbox::User "root";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::Languages "none";
Acquire::Retries "3";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
EOF
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
apt() { "apt-$1" -q -c "$state/apt.conf" "${@:2}"; }

# A suite that has left its archive is no failure, as long as another has the package.
absent=3
updated=$(apt get update 2>&1) || { absent=1; echo "$updated" >&2; }
for i in "${!packages[@]}"; do
  package=${packages[i]}
  case $package in
    *\*) packages[i]=$(apt cache pkgnames "${package%\*}" | grep -E -- '-[0-9.]+$' | sort -V | tail -n 1 || true) ;;
    *) packages[i]=$(apt cache pkgnames "$package" | grep -xF -- "$package" || true) ;;
  esac
  [ -n "${packages[i]}" ] || fail "$(cut -d ' ' -f 4,5 "$state/sources.list" | paste -sd ,): no package $package" $absent
done

# apt continues what it finds here, but trusts what has the right size already.
download=$folder.download
mkdir -p "$download"
for package in "${packages[@]}"; do
  uri=$(cd "$state" && apt get --print-uris download "$package")
  read -r _ file _ hash <<<"$uri"
  verified() { sha256sum --quiet -c - <<<"${hash#SHA256:}  $file" >/dev/null 2>&1; }
  cd "$download"
  echo "fetching $file" >&2
  apt get -q=2 download "$package" >&2 && verified || {
    rm -f "$file"
    apt get -q=2 download "$package" >&2 && verified || fail "cannot download $file: try again, or name another mirror by DEBIAN_MIRROR"
  }
  dpkg-deb -x "$file" "$state/root"
  echo "$package $(dpkg-deb -f "$file" Version)" >>"$state/root/packages"
done
cd /
rm -rf "$folder.new" "$download"
cp -a "$state/root" "$folder.new"
mv "$folder.new" "$folder"
