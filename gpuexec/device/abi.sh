#!/bin/sh
# Compares cuda_abi.h with NVIDIA's cuda.h, of CUDA 12 or 13: every type, constant and signature. Silent when they agree.
#   gpuexec/device/abi.sh [FOLDER OF cuda.h]      without a folder: that of NVIDIA's wheel from PyPI
set -eu
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
include=${1:-}
if [ -z "$include" ]; then
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --platform manylinux2014_x86_64 --dest "$scratch" nvidia-cuda-runtime-cu12==12.9.79 >&2
  python3 -m zipfile -e "$scratch"/*.whl "$scratch"
  include=$scratch/nvidia/cuda_runtime/include
fi
cat >"$scratch/abi.c" <<END
#include <cuda.h>
#include "$here/cuda_abi.h"
#define CONSTANT(name, value) _Static_assert(name == value, #name);
RIFFLE_CUDA_CONSTANTS(CONSTANT)
#define FUNCTION(name, params, args) CUresult (*check_##name) params = name;
RIFFLE_CUDA_FUNCTIONS(FUNCTION)
_Static_assert(sizeof(CUresult) == sizeof(int) && sizeof(CUdevice_attribute) == sizeof(int), "enums are ints");
_Static_assert(sizeof(CUfunction_attribute) == sizeof(int) && sizeof(CUdevice) == sizeof(int), "enums are ints");
_Static_assert(sizeof(CUdeviceptr) == sizeof(unsigned long long), "CUdeviceptr");
END
${CC:-cc} -Wall -Wno-enum-compare -Werror -I"$include" -c -o /dev/null "$scratch/abi.c"
