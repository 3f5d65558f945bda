#!/bin/sh
# Compiles kernels to PTX, each beside its source:  ptx.sh a.cu b.cu   (all of the folder without arguments)
# PTX is made for sm_80 and later; the driver translates it for the device that is there. The compiler is
# pinned, since its output is committed and .ci/run looks whether it is current: clang 14, Debian 12's.
#
# Loops are unrolled only where the source says #pragma unroll. LLVM's own choice unrolls the loops around
# block decoders, which costs registers (or_tile spilled five times as much) and a third more code.
#
# A PTX begins with what it was made from, as sha256sum writes it, with paths from gpuexec/: by these lines TestPTXIsCurrent
# notices a source or header that has changed since, without a compiler. Structs that kernels and Go share would differ otherwise.
#
# RIFFLE_PTX_FLAGS adds flags: with -gline-tables-only, ncu and compute-sanitizer name lines of the source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
CLANG=${RIFFLE_CLANG:-clang-14}
command -v "$CLANG" >/dev/null || { echo "ptx.sh: there is no $CLANG (apt-get install clang-14)" >&2; exit 1; }
[ $# -gt 0 ] || set -- "$here"/*.cu
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
for source; do
  [ -f "$source" ] || continue
  folder=$(cd "$(dirname "$source")" && pwd)
  name=$(basename "$source" .cu)
  (
    cd "$here/.."
    "$CLANG" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 \
      -Xclang -target-feature -Xclang +ptx71 -std=c++17 -O3 -fno-unroll-loops -ffp-contract=off -fdeclspec \
      -Wall -Wextra -Werror ${RIFFLE_PTX_FLAGS:-} -S -I kernels -MD -MF "$made/sources" -MT ptx -o "$made/ptx" "${folder#"$PWD"/}/$name.cu"
    sed -e 's/^ptx://' -e 's/\\$//' "$made/sources" | tr -s ' ' '\n' | sed -n -e ':a' -e 's|[^/]*/\.\./||' -e ta -e /./p | LC_ALL=C sort | xargs sha256sum | sed 's|^|// |'
    cat "$made/ptx"
  ) >"$made/whole"
  mv "$made/whole" "$folder/$name.ptx"
done
