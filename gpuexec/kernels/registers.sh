#!/bin/sh
# What the kernels take of a multiprocessor, without a GPU: registers, spilled bytes and shared memory, by NVIDIA's
# ptxas from PyPI (48 MB, kept in .cuda).   registers.sh a.ptx b.ptx   (all kernels without arguments)
# The driver's translator on the machine may differ a little; KernelInfo of package device tells what it made.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cuda=$(cd "$here/../.." && pwd)/.cuda
ptxas=$cuda/nvcc/nvidia/cu13/bin/ptxas
arch=${RIFFLE_ARCH:-sm_90}
if [ ! -x "$ptxas" ]; then
  rm -rf "$cuda/nvcc"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$cuda/nvcc" nvidia-cuda-nvcc==13.5.37 >&2
  python3 -m zipfile -e "$cuda"/nvcc/*.whl "$cuda/nvcc"
  rm "$cuda"/nvcc/*.whl
  chmod +x "$ptxas"
fi
[ $# -gt 0 ] || set -- "$here"/*.ptx
for ptx; do
  "$ptxas" -v -arch="$arch" -o /dev/null "$ptx" 2>&1
done | awk '
  /Compiling entry function/ { gsub("\047", "", $7); name = $7 }
  name && /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
  name && /Used [0-9]+ registers/ {
    shared = 0
    for (i = 1; i <= NF; i++) if ($i == "smem" || $i == "smem,") shared = $(i - 2)
    printf "%-24s %3d registers  %5d B stack  %5d B spilled  %5d B filled  %6d B shared\n", name, $5, stack, stores, loads, shared
    name = ""
  }'
