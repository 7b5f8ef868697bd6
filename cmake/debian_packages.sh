#!/usr/bin/env bash
# Lists the Debian 12 packages that this project needs, by purpose, and installs the missing ones.
#
#   cmake/debian_packages.sh GROUP...          installs them (as root, or with sudo)
#   cmake/debian_packages.sh --list GROUP...   prints the names
#
# This is the only list of packages: quickstart.sh and test/run.sh use it.
set -euo pipefail

# Building codlc and libcodl needs these.
build=(
  cmake ninja-build g++ ccache
  libonnx-dev libprotobuf-dev protobuf-compiler        # frontend
  llvm-14-dev libtinfo-dev zlib1g-dev                  # LLVM Support and its libraries
  nlohmann-json3-dev                                   # profiles
  libeigen3-dev                                        # pruning and low rank
  libflatbuffers-dev flatbuffers-compiler libxxhash-dev  # plan format
  libhwy-dev                                           # CPU kernels (headers only)
  opencl-c-headers                                     # OpenCL declarations; the library is opened at run time
)
# Runs the co-execution variant on a machine without a GPU, with an OpenCL device made of CPU cores.
run=(ocl-icd-libopencl1 pocl-opencl-icd)
# Needed for tests and checks.
test=(catch2 git python3 python3-jsonschema python3-matplotlib binutils dpkg-dev make pkg-config clang-format clang-tidy oclgrind)
# test/drivers.sh runs another OpenCL implementation on CPU cores.
drivers=(mesa-opencl-icd python3-venv)
# Needed for the cross build, and to emulate its programs.
aarch64=(g++-aarch64-linux-gnu qemu-user)
# test/bench needs these.
bench=(libbenchmark-dev)
# examples/models/make_*.py needs these.
models=(python3-numpy python3-onnx)
# The presets asan and fuzz need these.
fuzz=(clang-14 libclang-rt-14-dev lld-14)
# test/matrix/cluster_test.py compiles on a Dask cluster.
cluster=(python3-distributed)
# test/peers makes a virtual environment for wheels of other runtimes.
peers=(python3-venv)

list_only=false
if [ "${1-}" = --list ]; then
  list_only=true
  shift
fi
wanted=()
for group in "$@"; do
  case $group in
    build | run | test | drivers | aarch64 | bench | models | fuzz | cluster | peers) ;;
    *)
      echo "debian_packages.sh: expected a group (build run test drivers aarch64 bench models fuzz cluster peers), found '$group'" >&2
      exit 1
      ;;
  esac
  declare -n packages=$group
  wanted+=("${packages[@]}")
done
if $list_only; then
  printf '%s\n' "${wanted[@]}"
  exit 0
fi

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "debian_packages.sh: expected root or sudo to install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
# Uses env, because sudo would drop the variable.
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null
