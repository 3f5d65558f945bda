#!/usr/bin/env bash
# Measures riffle on a machine with a GPU, that need not have Go nor anything of this repository but this
# script and what "build" made of it. bench/README.md says what comes out.
#
#   bench/gpu/run.sh build [-c CORPUS.jsonl.zst] [-i TEXT.jsonl.zst] [-q TOPICS.tsv]
#                                                                here: makes .gpu/ of binaries, the lists of CORPUS, and TEXT itself
#   bench/gpu/run.sh PART ...                                    there, in a copy of the repository with .gpu/
#   bench/gpu/run.sh dry                                         here: all parts, tiny, on the emulated GPU
#
# PART, and about how long it takes on an H200 with 16 cores, as seen on 2026-11-20 (BUDGET bounds each; parts of the generated
# collection that stand together share one process, since making it takes 7 to 16 s):
#
#   info       1 s    what the machine is
#   tests      2 min  the tests of gpuexec, device, listcache, demand, dispatch and postings on the real driver
#   decode     2 min  integers a second by codec and length of list, GPU and CPU (Ding 2009)
#   or and     2 min  each: queries a second by algorithm, k and batch, CPU and GPU; andor and tree the same
#   gutenberg  3 min  or, and and andor on the lists of CORPUS
#   cache      3 min  caches by size, policy and λ (Wang 2017)
#   stream     2 min  memory smaller than the lists (OR and AND, by share and batch), and where the time of kernels goes; STREAM_FLAGS for more flags
#   huang      5 min  P of ranges, which take a second for 200 queries; policies 15 s: LBD and others; devices 30 s: several GPUs (Huang 2017)
#   ranges     6 min  with n GPUs, two at least, and the same memory of each: an index that fits into one, on one, as copies and as ranges, and
#                     one n times as large, as ranges and as copies (wants DOCS of a GPU's share: n times as many must fit into main memory)
#   latency    30 s   p50 and p99 by rate of arrival
#   auto       90 s   policies cpu, gpu and auto at the same loads
#   change     40 s   policies gpu and auto every half second, while other processes take -cores cores and then, with DISTURB, use the GPU
#   deadlines  45 s   searches at random times, due in 5 or 50 ms: how many are in time, by policy and rate of arrival (Ding 2009)
#   cores      50 s   queries that share 8 cores of the CPU by policy (Tatikonda 2011); -cores in FLAGS for other numbers
#   counts     1 min  how many documents match, and no more: CPU, GPU by scores and by bits, OR, AND and trees
#   strips     1 min  what bounds leave alive of tiles, strips and cells, and how many postings; no GPU, so anywhere
#   index      2 min  building an index with positions, CPU and CPU+GPU (Wei 2011); with its tests. Wants TEXT
#   serving    6 min  what searches cost that ask for more than flat queries (not if KINDS is none), and while documents are added: with small
#                     segments left to the CPU (left), on the GPU (kept), and with documents that leave the mean length as it is (even); and
#                     where the time goes; RIFFLE_SERVING_SECONDS (5) for a phase, RIFFLE_SERVING_RATE for random
#                     searches a second, WAYS for some of the three. Wants TEXT
#   sanitizer  5 min  compute-sanitizer over the conformance test and flat tiles: memcheck (1 min), racecheck (long), synccheck, initcheck
#   ncu        2 min  counters of the main kernels: what binds them
#
# In commands of ten minutes at most, the most important first. A part that is cut off goes on where it was, as long as the machine
# is held, or where .gpu/runs.jsonl from an earlier one travels with it:
#
#   1  run.sh info tests or and policies latency
#   2  run.sh gutenberg andor cache cores
#   3  run.sh decode huang ncu sanitizer
#
# Variables: OUT, the folder for what comes out (gpu-bench); BUDGET, seconds for each part (170); QUERIES (2048), DOCS
# (25000000) and TIME (1s, of one measurement) of the generated collection; DISTURB, a command that uses the GPU, for change (for
# three quarters of 16 cores, FLAGS='-cores 12'); TESTS, the packages for build and tests; PROGRAMS, those for
# build besides, or none (the parts from codecs to strips and stream need gpubench); REPEAT (8) and CORPUS (the one that was sent) for
# index, and RIFFLE_BUILD_POSITIONS=none for one without positions; RIFFLE_LIBCUDA, the driver, as in docs/GPU.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
kit=$root/.gpu
limit=$((60 << 20)) # bytes of .gpu/ and of the repository, of the 64 MiB that can be sent
programs=${PROGRAMS:-./internal/gpubench ./cmd/riffle}
tests=${TESTS:-gpuexec gpuexec/device gpuexec/invert gpuexec/listcache gpuexec/demand internal/dispatch postings}

say() { echo "=== $*" >&2; }

# Here.

build() {
  local corpus= topics= text= OPTIND=1
  while getopts c:q:i: flag; do
    case $flag in c) corpus=$OPTARG ;; q) topics=$OPTARG ;; i) text=$OPTARG ;; *) exit 2 ;; esac
  done
  cd "$root"
  go test -run PTX ./gpuexec # what is sent must be of one make
  export CGO_ENABLED=1
  rm -rf "$kit"
  mkdir -p "$kit/stage/bin"
  local p
  for p in $tests; do
    go test -c -tags cuda -ldflags='-s -w' -trimpath -o "$kit/stage/bin/$(basename "$p").test" "./$p"
  done
  [ "$programs" = none ] || go build -tags cuda -ldflags='-s -w' -trimpath -o "$kit/stage/bin/" $programs
  if [ -n "$text" ]; then
    go test -c -tags cuda -ldflags='-s -w' -trimpath -o "$kit/stage/bin/riffle.test" .
    cp "$text" "$kit/stage/text.jsonl"
    mkdir "$kit/stage/queries"
    [ -z "$topics" ] || cp "$topics" "$kit/stage/queries/gutenberg-dev.tsv"
  fi
  # For a host with an older C library than this one's: its loader and itself.
  mkdir "$kit/stage/lib"
  { ldd "$kit"/stage/bin/* 2>/dev/null || true; } | { grep -oE '[[:space:]]/[^ ]+' || true; } | sort -u | xargs -I{} cp -L {} "$kit/stage/lib/"
  if [ -n "$corpus" ]; then
    "$kit/stage/bin/gpubench" -text "$corpus" -topics "$topics" -write "$kit/stage/gutenberg.lists" -out "$kit/none"
    rm -r "$kit/none"
  fi
  git rev-parse HEAD >"$kit/stage/revision" 2>/dev/null || echo unknown >"$kit/stage/revision"
  tar -C "$kit/stage" -czf "$kit/kit.tar.gz" .
  rm -r "$kit/stage"
  local bytes
  bytes=$(($(wc -c <"$kit/kit.tar.gz") + $(git ls-files -z | xargs -0 cat 2>/dev/null | wc -c)))
  [ "$bytes" -lt "$limit" ] || { echo "run.sh: $bytes bytes would have to be sent, more than $limit" >&2; return 1; }
  say ".gpu/kit.tar.gz: $(wc -c <"$kit/kit.tar.gz") bytes, $bytes with the repository"
}

# There.

unpack() {
  work=${RIFFLE_GPU_WORK:-/tmp/riffle-gpu}
  [ -f "$kit/kit.tar.gz" ] || { echo "run.sh: there is no .gpu/kit.tar.gz; run.sh build makes it" >&2; exit 1; }
  if ! [ -f "$work/revision" ] || [ "$kit/kit.tar.gz" -nt "$work/unpacked" ]; then
    rm -rf "$work"
    mkdir -p "$work/out"
    tar -C "$work" -xzf "$kit/kit.tar.gz"
    [ ! -f "$kit/runs.jsonl" ] || cp "$kit/runs.jsonl" "$work/out/"
    touch "$work/unpacked"
  fi
  run=
  local probe
  for probe in "$work"/bin/*; do "$probe" -h >/dev/null || true; done 2>"$work/help" # some are static
  if grep -q 'GLIBC_' "$work/help"; then
    run="$work/lib/$(cd "$work/lib" && ls | grep -m1 ld-linux) --library-path $work/lib"
  fi
  out=${OUT:-gpu-bench}
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  # What is done comes out at once, whatever becomes of the rest.
  while sleep 5; do collect; done &
  collector=$!
  trap 'kill $collector 2>/dev/null || true; collect' EXIT
}

collect() { cp -f "$work"/out/* "$out/" 2>/dev/null || true; }

# limited SECONDS COMMAND... ends a command that takes too long, which is no failure of the others.
limited() {
  local seconds=$1 status=0
  shift
  timeout --kill-after=10 "$seconds" "$@" || status=$?
  [ $status -ne 124 ] || echo "stopped after $seconds s"
  return $status
}

budget=${BUDGET:-170}
gov2() { # PART...
  $run "$work/bin/gpubench" -docs "${DOCS:-25000000}" -queries "${QUERIES:-2048}" -batch 256,1024,2048 -time "${TIME:-1s}" -budget "$((budget * $#))s" \
    -out "$work/out" ${FLAGS:-} ${DISTURB:+-disturb "$DISTURB"} "$@"
}

part_info() {
  {
    date -u; uname -a; cat "$work/revision"; nproc
    grep -m1 'model name' /proc/cpuinfo || true
    nvidia-smi 2>&1 || true
    ldd --version 2>&1 | head -n 1
    [ -z "$run" ] || echo "by the C library that was sent"
    $run "$work/bin/riffle" gpu info 2>&1 || true
  } | tee "$work/out/machine.txt"
}

part_tests() {
  local p failed=0 status
  for p in $tests; do
    status=0
    (cd "$root/$p" && limited "$budget" $run "$work/bin/$(basename "$p").test" -test.v ${TESTFLAGS:-}) >"$work/log" 2>&1 || status=$?
    { echo "$p"; cat "$work/log"; } >>"$work/out/tests.txt"
    echo "$p: exit status $status, $(grep -c -- '^--- PASS' "$work/log" || true) passed, $(grep -c -- '^--- SKIP' "$work/log" || true) skipped"
    [ $status -eq 0 ] || { failed=1; grep -E -A20 -- '--- FAIL|^panic|GLIBC' "$work/log" | head -n 60; }
  done
  return $failed
}

part_decode() {
  (cd "$root/gpuexec" && limited "$budget" $run "$work/bin/gpuexec.test" -test.run XXX -test.bench 'Decode|Host' ${BENCHFLAGS:-}) | tee "$work/out/decode.txt"
  gov2 codecs
}

# Lists of 4,096 queries, half of which the choice of lists that stay is made by; all that batches have beside is less than 2 GB. Then
# each kernel by itself, unless TRACE is none. What lists stay by, in about 3 minutes:
#   TRACE=none STREAM_FLAGS='-cache 40,20,10,5 -or-only -policies qtf,qtfdf -ways static,learning' run.sh stream
part_stream() {
  local all=(-docs "${DOCS:-25000000}" -queries "${STREAM_QUERIES:-4096}" -k 10 -batch 256,2048 -cache 70,40,20,10,5 -batch-bytes $((80 << 20)))
  $run "$work/bin/gpubench" "${all[@]}" -time "${TIME:-1s}" -budget "$((2 * budget))s" -out "$work/out" ${STREAM_FLAGS:-} stream
  [ "${TRACE:-}" != none ] || return 0
  $run "$work/bin/gpubench" "${all[@]}" -cache "${TRACE:-70,5}" -time 100ms -budget "${budget}s" -out "$work/traced" ${STREAM_FLAGS:-} -trace stream
  cp "$work/traced/tables.md" "$work/out/stream-kernels.md"
}

part_gutenberg() {
  [ -f "$work/gutenberg.lists" ] || { echo "no lists: run.sh build -c CORPUS -q TOPICS" >&2; return 1; }
  $run "$work/bin/gpubench" -collection "$work/gutenberg.lists" -time "${TIME:-1s}" -budget "${budget}s" -out "$work/out" ${FLAGS:-} or and andor
}

# The kernels' tests, the pipeline's with a GPU, then the rows.
part_index() {
  [ -f "$work/bin/riffle.test" ] || { echo "no text: run.sh build -i TEXT" >&2; return 1; }
  export RIFFLE_BUILD_CORPUS=${CORPUS:-$work/text.jsonl} RIFFLE_BUILD_REPEAT=${REPEAT:-8}
  (cd "$root/gpuexec/invert" && limited "$budget" $run "$work/bin/invert.test" ${TESTFLAGS:-}) 2>&1 | tee "$work/out/index.txt"
  (cd "$root" && limited "$budget" $run "$work/bin/riffle.test" -test.run 'Build.*GPU' -test.v) 2>&1 | grep -v '^=== ' | tee -a "$work/out/index.txt"
  (cd "$root" && limited $((3 * budget)) $run "$work/bin/riffle.test" -test.run XXX -test.bench BuildRows -test.benchtime "${ROUNDS:-3}x") 2>&1 |
    tee -a "$work/out/index.txt"
}

part_serving() {
  [ -f "$work/bin/riffle.test" ] || { echo "no text: run.sh build -i TEXT -q TOPICS" >&2; return 1; }
  export RIFFLE_BUILD_CORPUS=${CORPUS:-$work/text.jsonl} RIFFLE_BUILD_REPEAT=${REPEAT:-8} RIFFLE_CORPORA=$work
  [ "${KINDS:-}" = none ] || (cd "$root" && limited "$budget" $run "$work/bin/riffle.test" -test.run XXX -test.bench GPUKinds -test.benchtime "${TIME:-1s}") 2>&1 |
    tee "$work/out/serving.txt"
  local way keep even
  for way in ${WAYS:-left kept even}; do
    keep= even=
    case $way in kept) keep=1 ;; even) keep=1 even=1 ;; esac
    echo "serving: $way" | tee -a "$work/out/serving.txt"
    (cd "$root" && RIFFLE_SERVING_KEEP=$keep RIFFLE_SERVING_EVEN=$even RIFFLE_SERVING_TRACE=$out/serving-$way limited "$budget" \
      $run "$work/bin/riffle.test" -test.run XXX -test.bench GPUServing -test.benchtime "${ROUNDS:-1}x") 2>&1 | tee -a "$work/out/serving.txt"
  done
}

part_sanitizer() {
  local tool flags tests status failed=0
  command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer here"; return 0; }
  for tool in memcheck racecheck synccheck initcheck; do
    flags= tests='TestConformance|TestDecodeWidths|TestMissing' status=0 # gpuexec/kernels/README.md has why
    case $tool in
      memcheck) tests="$tests|TestFlatTiles" ;;
      synccheck) flags='--num-cuda-barriers 1024' tests="$tests|TestFlatTiles" ;;
      initcheck) flags='--check-api-memory-access no' ;;
    esac
    (cd "$root/gpuexec" && limited "$budget" compute-sanitizer --tool $tool $flags --error-exitcode 9 $run "$work/bin/gpuexec.test" \
      -test.short -test.run "$tests" -exectest.seed=7) >"$work/log" 2>&1 || status=$?
    echo "$tool: exit status $status; $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$work/log" | tail -n 1)" | tee -a "$work/out/sanitizer.txt"
    head -c 2000000 "$work/log" >>"$work/out/sanitizer.txt"
    [ $status -eq 0 ] || [ $status -eq 124 ] || failed=1
  done
  return $failed
}

part_ncu() {
  command -v ncu >/dev/null || { echo "no ncu here"; return 0; }
  local kernel algorithm mode
  while read -r kernel algorithm mode; do
    # One large batch; launches of the fifth batch, when the lists are there and flat.
    limited "$budget" ncu --clock-control none --target-processes all -k "$kernel" --launch-skip 8 --launch-count 2 \
      --section SpeedOfLight --section ComputeWorkloadAnalysis --section MemoryWorkloadAnalysis --section InstructionStats \
      --section Occupancy --section LaunchStats --section WarpStateStats --section SchedulerStats \
      $run "$work/bin/gpubench" -docs "${DOCS:-25000000}" -queries 2048 -k 10 -batch 2048 -time 1s -algorithms "$algorithm" \
      -out "$work/ncu" ${FLAGS:-} "$mode" </dev/null >"$work/log" 2>&1 || echo "$kernel: exit status $?"
    rm -rf "$work/ncu"
    head -c 2000000 "$work/log" >>"$work/out/ncu.txt"
    echo "$kernel: $(grep -cE '^ +[a-z_]+ \(' "$work/log" || true) launches"
  done <<'KERNELS'
or_rounded exhaustive or
or_rounded maxscore or
or_strips maxscore or
and_strips auto and
or_tile wand or
KERNELS
}

# Whether a part works on the generated collection.
generates() { case $1 in or | and | andor | tree | cache | huang | policies | devices | ranges | latency | auto | change | deadlines | cores | counts | strips) ;; *) return 1 ;; esac; }

parts() {
  local part failed= began generated
  unpack
  while [ $# -gt 0 ]; do
    part=$1 began=$SECONDS generated=()
    while [ $# -gt 0 ] && generates "$1"; do
      generated+=("$1")
      shift
    done
    [ ${#generated[@]} -gt 0 ] || shift
    part="${generated[*]:-$part}"
    say "$part"
    case $part in
      info | tests | decode | stream | gutenberg | index | serving | sanitizer | ncu) "part_$part" || failed="$failed $part" ;;
      "${generated[*]:-none}") gov2 "${generated[@]}" || failed="$failed $part" ;;
      *) echo "run.sh: there is no part $part" >&2; failed="$failed $part" ;;
    esac
    say "$part: $((SECONDS - began)) s"
  done
  [ -z "$failed" ] || { echo "FAILED:$failed" >&2; return 1; }
}

# dry runs all parts on the emulated GPU, whose figures mean nothing.
dry() {
  local scratch
  scratch=$(mktemp -d)
  "$root/gpuexec/emulator/build.sh"
  export RIFFLE_LIBCUDA=$root/.cuda/emulator/libcuda.so RIFFLE_GPU_WORK=$scratch/work OUT=${OUT:-$scratch/out}
  export DOCS=20000 QUERIES=30 TIME=1ms BUDGET=100 TESTFLAGS='-test.short -test.run=Decode|Kernels|Events|Extents|Script|Choose|Codec|Missing'
  export BENCHFLAGS='-test.bench=Decode/codec=packed/postings=4096 -test.benchtime=1x'
  export FLAGS='-k 10 -batch 8 -cache 0,40 -threads 32 -delays 1 -clients 6 -batch-bytes 8388608 -column-bytes 1048576 -flat-bytes 8388608 -strip-tiles -1 -memory 33554432
    -tile-shift 12 -tile-threads 64 -lead-threads 64 -range-threads 32'
  export STREAM_QUERIES=20 STREAM_FLAGS='-batch 8 -cache 5 -batch-bytes 8388608 -column-bytes 1048576 -window-bytes 33554432 -tile-shift 12 -window-tiles 4' TRACE=5
  "$0" info tests decode stream or and andor cache huang policies devices latency auto change deadlines cores counts strips sanitizer ncu
  RIFFLE_EMULATOR_DEVICES=2 "$0" ranges
  say "$(wc -l <"$OUT/runs.jsonl") measurements"
  rm -r "$scratch"
}

case ${1:-} in
  build) shift; build "$@" ;;
  dry) dry ;;
  '' | -*) sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"; exit 2 ;;
  *) parts "$@" ;;
esac
