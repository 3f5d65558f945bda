#!/usr/bin/env bash
# Measures how building an index uses the cores of a machine: text a second by workers.
#
#   bench/cpu/index.sh [-o OUT] -b RIFFLE [-k CORES] [-m SIZE] FILE...
#
#   -o OUT       folder for what comes out (./index-bench): index.jsonl, a line for each build
#   -b RIFFLE    the riffle program
#   -k WORKERS   "1 2 4 8 16"
#   -m SIZE      memory for inverted documents (1GiB)
#   FILE...      JSON lines, all read at a time; bench/cpu/copies makes several of one
set -euo pipefail
out=index-bench riffle= workers="1 2 4 8 16" memory=1GiB
while getopts o:b:k:m: flag; do
	case $flag in
	o) out=$OPTARG ;; b) riffle=$OPTARG ;; k) workers=$OPTARG ;; m) memory=$OPTARG ;;
	*) sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ -n "$riffle" ] && [ $# -gt 0 ] || { echo "neither program nor files; -? prints how to use it" >&2; exit 2; }
mkdir -p "$out"
cat "$@" | wc -c >&2 # once through the cache of the system
TIMEFORMAT='"processor_s":%U'
for store in false true; do
	for w in $workers; do
		rm -rf "$out/index"
		{ time GOMAXPROCS=$w "$riffle" index --db "$out/index" --only text --store=$store --memory "$memory" --workers "$w" --readers $# --progress none "$@"; } \
			>"$out/line" 2>"$out/time" || { cat "$out/time" >&2; exit 1; }
		sed "s/^{/{\"workers\":$w,\"readers\":$#,\"store\":$store,$(tail -n 1 "$out/time"),/" "$out/line" | tee -a "$out/index.jsonl"
	done
done
rm -rf "$out/index"
