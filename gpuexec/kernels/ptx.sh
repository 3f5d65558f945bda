#!/bin/sh
# Compiles kernels to PTX, each beside its source:  ptx.sh a.cu b.cu   (all of the folder without arguments)
# PTX is made for sm_80 and later; the driver translates it for the device that is there. The compiler is
# pinned, since its output is committed and .ci/run looks whether it is current: clang 14, Debian 12's.
#
# Loops are unrolled only where the source says #pragma unroll. LLVM's own choice unrolls the loops around
# block decoders, which costs registers (or_tile spilled five times as much) and a third more code.
#
# RIFFLE_PTX_FLAGS adds flags: with -gline-tables-only, ncu and compute-sanitizer name lines of the source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
CLANG=${RIFFLE_CLANG:-clang-14}
command -v "$CLANG" >/dev/null || { echo "ptx.sh: there is no $CLANG (apt-get install clang-14)" >&2; exit 1; }
[ $# -gt 0 ] || set -- "$here"/*.cu
for source; do
  [ -f "$source" ] || continue
  "$CLANG" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 \
    -Xclang -target-feature -Xclang +ptx70 -std=c++17 -O3 -fno-unroll-loops -ffp-contract=off -fdeclspec \
    -Wall -Wextra -Werror ${RIFFLE_PTX_FLAGS:-} -S -I "$here" -o "${source%.cu}.ptx" "$source"
done
