# Makes the tables of run.sh out of its JSON lines. A line's name is
# FIGURE/TOPICS/MODE/..., and says what it measures.

function number(name,  at, rest) {
	at = index($0, "\"" name "\":")
	if (!at) return 0
	rest = substr($0, at + length(name) + 3)
	return rest + 0
}

function text(name,  at, rest) {
	at = index($0, "\"" name "\":\"")
	rest = substr($0, at + length(name) + 4)
	return substr(rest, 1, index(rest, "\"") - 1)
}

# remember keeps the order in which things first come.
function remember(list, what) {
	if (!((list, what) in seen)) {
		seen[list, what] = 1
		order[list] = order[list] (order[list] == "" ? "" : "\t") what
	}
}

{
	name = text("name")
	n = split(name, part, "/")
	set = part[2] "/" part[3]
	remember("sets", set)
	qps[name] = number("qps"); mean[name] = number("mean_us"); p99[name] = number("p99_us")
	if (sum[set] == "") sum[set] = text("checksum")
	if (text("checksum") != sum[set]) wrong[set] = 1
	figure = part[1]
	row = part[n]; column = part[n - 1]
	if (figure ~ /^4c/) { row = part[4]; column = "" }
	if (figure == "6") figure = "6-" part[4]
	remember(figure "/" set "/rows", row)
	remember(figure "/" set "/columns", column)
	have[figure] = 1
}

# cells prints one table: a row for each value, a column for each policy.
function cells(title, figure, set, kind, unit,  i, j, rows, columns, nr, nc, line, key, prefix) {
	if (order[figure "/" set "/rows"] == "") return
	nr = split(order[figure "/" set "/rows"], rows, "\t")
	nc = split(order[figure "/" set "/columns"], columns, "\t")
	print "\n### " title ", " set "\n"
	line = "| " unit " |"; for (j = 1; j <= nc; j++) line = line " " columns[j] " |"
	print line
	line = "|---:|"; for (j = 1; j <= nc; j++) line = line "---:|"
	print line
	prefix = figure; sub(/^6-/, "6/" set "/", prefix)
	if (prefix == figure) prefix = figure "/" set
	for (i = 1; i <= nr; i++) {
		line = "| " rows[i] " |"
		for (j = 1; j <= nc; j++) {
			key = prefix "/" columns[j] "/" rows[i]
			if (!(key in qps)) line = line "  |"
			else if (kind == "qps") line = line sprintf(" %.0f |", qps[key])
			else if (kind == "both") line = line sprintf(" %.0f / %.0f |", mean[key], p99[key])
			else line = line sprintf(" %.1f |", mean[key])
		}
		print line
	}
}

# gains prints what figure 4 is about: how much faster than on one core, and what it costs.
function gains(set,  i, j, rows, columns, nr, nc, line, one, alone, c, p) {
	nr = split(order["4a/" set "/rows"], rows, "\t")
	nc = split(order["4a/" set "/columns"], columns, "\t")
	one = qps["4a/" set "/inter/1"]; alone = mean["4b/" set "/inter/1"]
	if (!one) return
	print "\n### Gains over inter on one core, " set "\n"
	print "Throughput of a saturated engine over that of one core, its difference from inter on as many cores, and"
	print "how many times shorter the time of a query alone is.\n"
	print "| cores | policy | throughput | against inter | time alone |"
	print "|---:|---|---:|---:|---:|"
	for (i = 1; i <= nr; i++) for (j = 1; j <= nc; j++) {
		c = rows[i]; p = columns[j]
		if (!(("4a/" set "/" p "/" c) in qps) || c == 1) continue
		printf "| %s | %s | %.2f | %+.1f %% | %.2f |\n", c, p, qps["4a/" set "/" p "/" c] / one,
			100 * (qps["4a/" set "/" p "/" c] / qps["4a/" set "/inter/" c] - 1), alone / mean["4b/" set "/" p "/" c]
	}
}

function sweep(set,  i, rows, nr, c, key, inter) {
	if (order["4c-qps/" set "/rows"] == "") return
	nr = split(order["4c-qps/" set "/rows"], rows, "\t")
	for (key in qps) if (index(key, "4c-us/" set "/inter/") == 1) { c = key; sub(/.*\//, "", c) }
	print "\n### Figure 4c: FGQP by delta on " c " cores, " set "\n"
	print "Throughput saturated, against inter; time from arrival to end at half the load that saturates inter, µs (mean), and how"
	print "many times shorter than inter on one core, alone.\n"
	print "| delta | queries/s | against inter | time | times shorter |"
	print "|---:|---:|---:|---:|---:|"
	inter = qps["4a/" set "/inter/" c]
	printf "| inter | %.0f | | %.1f | %.2f |\n", inter, mean["4c-us/" set "/inter/" c], mean["4b/" set "/inter/1"] / mean["4c-us/" set "/inter/" c]
	for (i = 1; i <= nr; i++) {
		key = set "/" rows[i] "/" c
		if (!(("4c-us/" key) in mean)) continue
		printf "| %s | %.0f | %+.1f %% | %.1f | %.2f |\n", rows[i], qps["4c-qps/" key], 100 * (qps["4c-qps/" key] / inter - 1),
			mean["4c-us/" key], mean["4b/" set "/inter/1"] / mean["4c-us/" key]
	}
}

END {
	ns = split(order["sets"], sets, "\t")
	for (i = 1; i <= ns; i++) {
		set = sets[i]
		print "\n## " set " (answers " sum[set] (wrong[set] ? ", NOT EQUAL IN ALL RUNS" : ", equal in all runs") ")"
		gains(set)
		cells("Figure 4a: queries a second, saturated", "4a", set, "qps", "cores")
		cells("Figure 4b: mean time of a query alone, µs", "4b", set, "mean", "cores")
		sweep(set)
		cells("Figure 5a: time from arrival to end, µs, mean / p99", "5a", set, "both", "% of saturation")
		cells("Figure 5b: mean time of a query alone, µs", "5b", set, "mean", "words")
		cells("Figure 5c: queries a second, saturated", "5c", set, "qps", "words")
		cells("Figure 6: time from arrival to end of queries of 4 words, µs, mean / p99", "6-4", set, "both", "% of saturation")
		cells("Figure 6: the same for 6 words", "6-6", set, "both", "% of saturation")
	}
}
