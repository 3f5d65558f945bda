#!/usr/bin/env bash
# Measures how searches share the cores of a machine, as figures 4 to 6 of Tatikonda,
# Cambazoglu and Junqueira, Posting List Intersection on Multicore Architectures (2011).
#
#   bench/cpu/run.sh [-o OUT] [-b RIFFLE] [-d INDEX | -c CORPUS [-n COPIES]] [-t SECONDS] TOPICS.tsv ...
#
#   -o OUT       folder for what comes out (./cpu-bench): runs.jsonl, tables.md, machine.txt
#   -b RIFFLE    the riffle program; without it, it is built with Go from this repository
#   -d INDEX     an index to search
#   -c CORPUS    or JSON lines to index (field text only), -n times over (1): the paper's
#                queries take milliseconds, those on one gutenberg-a some 50 µs
#   -t SECONDS   about how long the measurements take together (240), indexing apart
#   -m MODES     "and or"
#   -k CORES     "1 2 4 8 16", as far as the machine has them
#   -q           only figure 4 and the sweep of delta
#
# It needs bash and awk, and no Go when there is a program. What is measured:
#
#   figure 4a  throughput of a saturated engine (as many clients as cores), by cores
#   figure 4b  time of a query alone in the engine (one client), by cores
#   figure 4c  throughput and time of FGQP by delta, on 8 cores; time under half of the
#              load at which inter saturates
#   figure 5a  time from arrival to end by rate of arrival (Poisson), on 8 cores
#   figure 5bc time alone and throughput by number of words
#   figure 6   figure 5a for queries of 4 and of 6 words
#
# Rates are shares of the throughput of inter on as many cores, which is measured first.
set -euo pipefail

out=cpu-bench riffle= db= corpus= copies=1 seconds=240 modes="and or" cores="1 2 4 8 16" quick=
while getopts o:b:d:c:n:t:m:k:q flag; do
	case $flag in
	o) out=$OPTARG ;; b) riffle=$OPTARG ;; d) db=$OPTARG ;; c) corpus=$OPTARG ;; n) copies=$OPTARG ;;
	t) seconds=$OPTARG ;; m) modes=$OPTARG ;; k) cores=$OPTARG ;; q) quick=yes ;;
	*) sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { echo "no topics; -? prints how to use it" >&2; exit 2; }
topics=("$@")
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

if [ -z "$riffle" ]; then
	riffle=$out/riffle
	(cd "$here/../.." && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$OLDPWD/$riffle" ./cmd/riffle)
fi
have=$(nproc)
upTo() { for c in $cores; do if [ "$c" -le "$1" ]; then echo -n "$c "; fi; done; }
cores=$(upTo "$have")
mid=$(upTo 8 | awk '{ print $NF }') # figures 4c, 5 and 6

{
	date -u; uname -a; echo "cores $have"
	(lscpu || cat /proc/cpuinfo) 2>/dev/null | grep -E 'Model name|Thread|Core|Socket|NUMA|L[123]|MHz' || true
	"$riffle" --version 2>/dev/null || true
	echo "topics ${topics[*]}, corpus ${corpus:-$db}, copies $copies, cores measured: $cores"
} >"$out/machine.txt"

if [ -z "$db" ]; then
	[ -n "$corpus" ] || { echo "neither -d nor -c" >&2; exit 2; }
	db=$out/index
	if [ ! -e "$db" ]; then
		for i in $(seq "$copies"); do
			"$riffle" index --db "$db" --only text --store=false --no-sync --memory 512MiB --progress none \
				--id-prefix "$i-" "$corpus" >>"$out/machine.txt"
		done
		"$riffle" compact --db "$db" >>"$out/machine.txt"
	fi
fi
"$riffle" stat --db "$db" >>"$out/machine.txt" 2>/dev/null || true

# measure PLAN runs a plan, cores by cores, so that each opens the index once.
measure() {
	awk '{ n = 1; for (i = 2; i < NF; i++) if ($i == "--cores") n = $(i + 1); print n "\t" $0 }' "$1" | sort -s -n -k1,1 | cut -f2- >"$1.sorted"
	"$riffle" bench --db "$db" --topics "${topics[0]}" --cache 8GiB --plan "$1.sorted" >>"$out/runs.jsonl"
}

# field NAME reads a number of the JSON lines on standard input.
field() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p"; }

# qps NAME is the throughput that was measured under a name.
qps() { grep "\"name\":\"$1\"" "$out/runs.jsonl" | tail -1 | field qps; }

label() { basename "$1" .tsv; }

policies="inter fgqp:150 fgqp:5 docp adaptive"
flags() { # of a policy, perhaps with its delta
	case $1 in
	fgqp:*) echo "--policy fgqp --delta ${1#fgqp:}" ;;
	*) echo "--policy $1" ;;
	esac
}

# planOne writes what depends on no rate; planTwo the rest.
planOne() {
	for t in "${topics[@]}"; do for m in $modes; do
		base="--topics $t --mode $m"; id=$(label "$t")/$m
		for c in $cores; do
			for p in $policies; do
				if [ "$c" = 1 ] && [ "$p" != inter ]; then continue; fi
				echo "4a/$id/$p/$c $base --cores $c --threads $c $(flags "$p")"
				echo "4b/$id/$p/$c $base --cores $c --threads 1 $(flags "$p")"
			done
		done
		for d in 5 10 20 50 75 100 150 200; do
			echo "4c-qps/$id/$d/$mid $base --cores $mid --threads $mid --policy fgqp --delta $d"
		done
		if [ -n "$quick" ]; then continue; fi
		for w in 2 3 4 5 6 8; do
			awk -F'\t' -v w=$w 'split($2, x, " ") == w { n++ } END { exit n < 20 }' "$t" || continue
			for p in inter fgqp:5 docp adaptive; do
				echo "5c/$id/$p/$w $base --words $w --cores $mid --threads $mid $(flags "$p")"
				echo "5b/$id/$p/$w $base --words $w --cores $mid --threads 1 $(flags "$p")"
			done
		done
	done; done
}

planTwo() {
	for t in "${topics[@]}"; do for m in $modes; do
		base="--topics $t --mode $m --cores $mid --threads $mid"; id=$(label "$t")/$m
		top=$(qps "4a/$id/inter/$mid")
		rate() { awk -v q="$1" -v s="$2" 'BEGIN { printf "%.0f", q * s / 100 }'; }
		half=$(rate "$top" 50)
		echo "4c-us/$id/inter/$mid $base --policy inter --rate $half"
		for d in 5 10 20 50 75 100 150 200; do
			echo "4c-us/$id/$d/$mid $base --policy fgqp --delta $d --rate $half"
		done
		if [ -n "$quick" ]; then continue; fi
		for s in 5 20 40 60 80 95 110; do
			for p in inter fgqp:5 docp adaptive; do
				echo "5a/$id/$p/$s $base $(flags "$p") --rate $(rate "$top" $s)"
			done
		done
		for w in 4 6; do
			wtop=$(qps "5c/$id/inter/$w"); [ -n "$wtop" ] || continue
			for s in 20 60 95 110; do
				for p in inter fgqp:5 docp; do
					echo "6/$id/$w/$p/$s $base --words $w $(flags "$p") --rate $(rate "$wtop" $s)"
				done
			done
		done
	done; done
}

: >"$out/runs.jsonl"
planOne >"$out/plan1"
# As many seconds for each as there are; the second plan has about two thirds of the first.
n=$(wc -l <"$out/plan1")
each=$(awk -v s="$seconds" -v n="$n" -v q="$quick" 'BEGIN { printf "%.2f", s / (n * (q ? 1.2 : 1.5)) }')
sed -i "s/\$/ --seconds $each/" "$out/plan1"
echo "$n measurements of $each s, then the rates" >&2
measure "$out/plan1"
planTwo | sed "s/\$/ --seconds $each/" >"$out/plan2"
echo "$(wc -l <"$out/plan2") measurements of $each s" >&2
measure "$out/plan2"

awk -f "$here/tables.awk" "$out/runs.jsonl" >"$out/tables.md"
echo "$out/tables.md" >&2
