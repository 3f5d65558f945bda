#!/bin/sh
# Builds the emulated driver with every kernel in it: .cuda/emulator/libcuda.so, and in .cuda/emulator/asan
# the same under the sanitizers for addresses and undefined behaviour, which programs built with go's -asan can load.
#   gpuexec/emulator/build.sh          compiles only what has changed
# Wants cuda.h in $RIFFLE_CUDA_INCLUDE, or where gpuexec/toolchain/setup.sh has put it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cuda=$(cd "$here/../.." && pwd)/.cuda
include=${RIFFLE_CUDA_INCLUDE:-$cuda/include}

# compile FOLDER FLAGS...
compile() {
  to=$1
  shift
  mkdir -p "$to"
  headers=$(ls -t "$here"/src/*.h "$here"/../kernels/*.h "$here"/../kernels/*.cuh "$here/build.sh" 2>/dev/null | head -n 1)
  objects=
  for source in "$here"/src/*.cpp "$here"/../kernels/*.cu "$here"/../device/testdata/*.cu; do
    [ -f "$source" ] || continue
    object=$to/$(basename "$source").o
    objects="$objects $object"
    [ "$object" -nt "$source" ] && [ "$object" -nt "$headers" ] && continue
    echo "$source" >&2
    ${CXX:-c++} -c -x c++ -std=c++17 -g -fPIC -ffp-contract=off -fvisibility=hidden -Wall -Wno-parentheses -Wno-unknown-pragmas \
      -I"$here/src" -I"$here/../toolchain/cuda13" -I"$include" "$@" -o "$object" "$source" || exit 1
  done
  ${CXX:-c++} -shared -Wl,-Bsymbolic "$@" -o "$to/libcuda.new" $objects -ldl -lpthread
  mv "$to/libcuda.new" "$to/libcuda.so"
}

compile "$cuda/emulator" -O2 &
compile "$cuda/emulator/asan" -O1 -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined &
wait $! && wait
