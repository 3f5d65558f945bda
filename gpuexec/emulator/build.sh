#!/bin/sh
# Builds the emulated driver with every kernel in it, and compiles only what has changed:
#   gpuexec/emulator/build.sh              .cuda/emulator/libcuda.so
#   gpuexec/emulator/build.sh asan race    .cuda/emulator/asan/libcuda.so and .cuda/emulator/race/libcuda.so
# asan finds accesses out of bounds and undefined behaviour, in programs that preload libasan or are built with go's -asan; race finds
# accesses that nothing puts in an order (src/race.cpp). RIFFLE_LIBCUDA names the one that a program takes for its driver.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cuda=$(cd "$here/../.." && pwd)/.cuda
headers=$(ls -t "$here"/src/*.h "$here"/../device/*.h "$here"/../kernels/*.h "$here"/../kernels/*.cuh "$here"/../invert/*.cuh "$here/build.sh" 2>/dev/null | head -n 1)

# build FOLDER FLAGS KERNEL_FLAGS
build() {
  mkdir -p "$1"
  objects=
  for source in "$here"/src/*.cpp "$here"/../kernels/*.cu "$here"/../baselines/*.cu "$here"/../invert/*.cu "$here"/../device/testdata/*.cu; do
    kernel_flags=
    case $source in
      */race.cpp) [ -n "$3" ] || continue ;;
      *.cu) [ -f "$source" ] || continue
        kernel_flags=$3 ;;
    esac
    object=$1/$(basename "$source").o
    objects="$objects $object"
    [ "$object" -nt "$source" ] && [ "$object" -nt "$headers" ] && continue
    echo "$object" >&2
    ${CXX:-c++} -c -x c++ -std=c++17 -g -fPIC -ffp-contract=off -fvisibility=hidden -Wall -Wno-parentheses -Wno-unknown-pragmas \
      -I"$here/src" $2 $kernel_flags -o "$object" "$source" || exit 1
  done
  ${CXX:-c++} -shared -Wl,-Bsymbolic $2 -o "$1/libcuda.new" $objects -ldl -lpthread
  mv "$1/libcuda.new" "$1/libcuda.so"
}

[ $# -gt 0 ] || set -- plain
for variant; do
  case $variant in
    plain) build "$cuda/emulator" -O2 '' ;;
    asan) build "$cuda/emulator/asan" '-O1 -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined' '' ;;
    race) build "$cuda/emulator/race" -O2 \
      '-fsanitize=thread --param tsan-distinguish-volatile=1 --param tsan-instrument-func-entry-exit=0' ;;
    *) echo "build.sh: there is no variant $variant" >&2; exit 1 ;;
  esac
done
