#!/bin/sh
# What a build with the tag cuda needs and Go cannot bring: NVIDIA's header, something to link against, and an
# emulated driver for machines without a GPU. All of it goes to .cuda in the root of the repository.
#
#   eval "$(gpuexec/toolchain/setup.sh)"          prints the variables to export
#   go test -count=1 -tags cuda ./gpuexec/...     on the emulator
#   env -u RIFFLE_LIBCUDA go test -tags cuda ...  on the machine's GPU
#
# The header is that of NVIDIA's PyPI wheel; RIFFLE_CUDA_INCLUDE=/usr/local/cuda/include takes an installed one
# instead, of CUDA 12 or 13. Needs a C and a C++ compiler, and python3 with pip for the wheel.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cuda=$(cd "$here/../.." && pwd)/.cuda
wheel=nvidia-cuda-runtime-cu12==12.9.79
mkdir -p "$cuda/lib"

header() {
  if [ -n "${RIFFLE_CUDA_INCLUDE:-}" ]; then
    include=$RIFFLE_CUDA_INCLUDE
    return
  fi
  include=$cuda/include
  [ -f "$include/cuda.h" ] && return
  rm -rf "$cuda/wheel"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --platform manylinux2014_x86_64 --dest "$cuda/wheel" "$wheel" >&2
  python3 -m zipfile -e "$cuda"/wheel/*.whl "$cuda/wheel"
  mv "$cuda/wheel/nvidia/cuda_runtime/include" "$include"
  rm -rf "$cuda/wheel"
}

# The names of all functions that cuda.h declares or mentions, or #defines others to.
names() {
  { grep -oE '\bcu[A-Z][A-Za-z0-9_]*\(' "$1" | tr -d '('
    sed -n 's/^ *#define  *cu[A-Za-z0-9_]*  *\(cu[A-Za-z0-9_]*\) *$/\1/p' "$1"
    sed -n 's/^ *#define  *cu[A-Za-z0-9_]*  *__CUDA_API_PT[A-Z]*(\(cu[A-Za-z0-9_]*\)) *$/\1/p' "$1"
  } | LC_ALL=C sort -u | sed 's/.*/NAME(&)/'
}

loader() {
  names "$include/cuda.h" >"$cuda/names.new"
  if [ -f "$cuda/lib/libcuda.a" ] && cmp -s "$cuda/names.new" "$cuda/names.h" &&
    ! [ "$here/loader.c" -nt "$cuda/lib/libcuda.a" ]; then
    return
  fi
  mv "$cuda/names.new" "$cuda/names.h"
  ${CC:-cc} -c -O2 -fPIC -Wall -I"$cuda" -o "$cuda/loader.o" "$here/loader.c"
  rm -f "$cuda/lib/libcuda.a"
  ar rcs "$cuda/lib/libcuda.a" "$cuda/loader.o"
}

header
loader
rm -f "$cuda/names.new"
RIFFLE_CUDA_INCLUDE=$include "$here/../emulator/build.sh" >&2
cat <<END
export CGO_ENABLED=1
export CGO_CFLAGS='-O2 -I$here/cuda13 -I$include'
export CGO_LDFLAGS='-L$cuda/lib -ldl'
export RIFFLE_LIBCUDA='$cuda/emulator/libcuda.so'
END
