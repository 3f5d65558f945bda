package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/bench/protocol"
)

const testRows = 3000

// testShape writes rows of a shape.
func testShape(t *testing.T, s shape) corpus {
	t.Helper()
	c, err := writeRows(filepath.Join(t.TempDir(), "rows.txt"), s, testRows)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// column reads the values of a column, by row.
func column(t *testing.T, c corpus, name string) (values []string) {
	t.Helper()
	columns, err := protocol.ParseColumns(c.columns)
	if err != nil {
		t.Fatal(err)
	}
	_, err = protocol.ReadLines(c.path, func(_ int, line []byte) error {
		return protocol.Values(columns, string(line), func(column protocol.Column, value string) error {
			if column.Name == name {
				values = append(values, value)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func numbersOf(t *testing.T, values []string) []int64 {
	t.Helper()
	numbers := make([]int64, len(values))
	for i, v := range values {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers[i] = n
	}
	return numbers
}

// TestRowsAreTheSame: a number of rows always makes the same file.
func TestRowsAreTheSame(t *testing.T) {
	for _, s := range shapes {
		a, b := testShape(t, s), testShape(t, s)
		first, err := os.ReadFile(a.path)
		if err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(b.path)
		if err != nil {
			t.Fatal(err)
		}
		if a.hash != b.hash || !bytes.Equal(first, again) || bytes.Count(first, []byte("\n")) != testRows {
			t.Errorf("%s: two files of %d rows differ, or have more or fewer lines", s.name, testRows)
		}
	}
}

// TestLogLines holds the log lines to their description.
func TestLogLines(t *testing.T) {
	s, _ := findShape("@logs")
	c := testShape(t, s)
	times := numbersOf(t, column(t, c, "time"))
	if !slices.IsSorted(times) || times[0] < firstTime {
		t.Error("times do not rise from the first of January on")
	}
	if days := float64(times[testRows-1]-firstTime) / (24 * 3600 * 1e9); days < 25 || days > 35 {
		t.Errorf("the last line is of day %g, want about 30", days)
	}
	latency := numbersOf(t, column(t, c, "latency"))
	slices.Sort(latency)
	if median, last := latency[testRows/2], latency[testRows-1]; last < 50*median {
		t.Errorf("the longest latency is %d µs, the median %d: no long tail", last, median)
	}
	hosts := column(t, c, "host")
	slices.Sort(hosts)
	if n := len(slices.Compact(hosts)); n < 300 {
		t.Errorf("%d hosts", n)
	}
}

// riffleOver has riffle index rows, and starts it.
func riffleOver(t *testing.T, c corpus) *contestant {
	t.Helper()
	source, err := moduleFolder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e, _ := find("riffle-columns")
	if e, err = e.over(c); err != nil {
		t.Fatal(err)
	}
	p, err := e.prepare(t.Context(), &tools{source: source, cache: *testCache, log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	dir, _, err := buildIndex(e, p, c, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	riffle := &contestant{engine: e, program: p, dir: dir}
	if err := riffle.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { riffle.end() })
	return riffle
}

// TestRowAnswers compares what riffle answers with what reading the rows gives. Other engines are compared with
// riffle in TestMeasurements.
func TestRowAnswers(t *testing.T) {
	s, _ := findShape("@logs")
	c := testShape(t, s)
	riffle := riffleOver(t, c)
	sets, err := rowSets(c, s, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		mode := set.modes[0]
		request := protocol.Request{Op: "run", Mode: mode, Want: "top", K: 10, Queries: set.queries, Reps: 1, Hits: true}
		if mode == "range" {
			request.Want = "count"
		}
		reply, err := riffle.proc.call(request)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range set.queries {
			q, err := protocol.ParseColumnQuery(mode, text)
			if err != nil {
				t.Fatal(err)
			}
			if mode == "range" {
				if want := len(rowsByHand(t, c, q)); reply.Counts[i] != want {
					t.Errorf("%s %q: %d, want %d", mode, text, reply.Counts[i], want)
				}
				continue
			}
			want := answerByHand(t, c, mode, q, rowsByHand(t, c, q))
			if got := reply.Hits[i]; want != nil && !slices.Equal(got, want) {
				t.Errorf("%s %q: %v, want %v", mode, text, got, want)
			}
		}
	}
}

// rowsByHand returns the rows that a query matches.
func rowsByHand(t *testing.T, c corpus, q protocol.ColumnQuery) (rows []int) {
	t.Helper()
	texts, values := column(t, c, "text"), column(t, c, q.Column)
	for row := range texts {
		if q.Word != protocol.AllDocuments && !slices.Contains(strings.Split(texts[row], " "), q.Word) {
			continue
		}
		if q.High != 0 {
			if v := numbersOf(t, values[row:row+1])[0]; v < q.Low || v > q.High {
				continue
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// answerByHand returns the answer of a mode without scores, else nil.
func answerByHand(t *testing.T, c corpus, mode string, q protocol.ColumnQuery, rows []int) (hits []protocol.Hit) {
	t.Helper()
	values := column(t, c, q.Column)
	counts := map[string]int{}
	for _, row := range rows {
		counts[values[row]]++
	}
	if mode == "filtered" {
		return nil
	}
	if mode == "terms" {
		terms := make([]string, 0, len(counts))
		for term := range counts {
			terms = append(terms, term)
		}
		slices.SortFunc(terms, func(a, b string) int {
			if counts[a] != counts[b] {
				return counts[b] - counts[a]
			}
			return strings.Compare(a, b)
		})
		for _, term := range terms[:min(10, len(terms))] {
			hits = append(hits, protocol.Hit{ID: protocol.TermID(term), Score: float64(counts[term])})
		}
		return hits
	}
	if mode == "cardinality" {
		return []protocol.Hit{{Score: float64(len(counts))}}
	}
	numbers := numbersOf(t, values)
	matched := make([]int64, len(rows))
	for i, row := range rows {
		matched[i] = numbers[row]
	}
	slices.Sort(matched)
	n := len(matched)
	switch mode {
	case "sort":
		sorted := slices.Clone(rows)
		slices.SortStableFunc(sorted, func(a, b int) int {
			switch x, y := numbers[a], numbers[b]; {
			case x == y:
				return 0
			case (x < y) == !q.Desc:
				return -1
			}
			return 1
		})
		for _, row := range sorted[:min(10, n)] {
			hits = append(hits, protocol.Hit{ID: row, Score: float64(numbers[row])})
		}
	case "histogram":
		for _, v := range matched {
			bucket := int(v / q.Width)
			if len(hits) == 0 || hits[len(hits)-1].ID != bucket {
				hits = append(hits, protocol.Hit{ID: bucket})
			}
			hits[len(hits)-1].Score++
		}
	case "stats":
		sum := 0.0
		for _, v := range matched {
			sum += float64(v)
		}
		for i, v := range []float64{float64(n), float64(matched[0]), float64(matched[n-1]), sum} {
			hits = append(hits, protocol.Hit{ID: i, Score: v})
		}
	case "percentiles":
		for _, percent := range protocol.Percents {
			at := (int(percent)*n + 99) / 100
			hits = append(hits, protocol.Hit{ID: int(percent), Score: float64(matched[at-1])})
		}
	}
	return hits
}

// TestRangesHaveTheirShare: as many rows are in a range as its name says, or some more where values repeat.
func TestRangesHaveTheirShare(t *testing.T) {
	s, _ := findShape("@logs")
	c := testShape(t, s)
	sets, err := rowSets(c, s, 5)
	if err != nil {
		t.Fatal(err)
	}
	ranges := 0
	for _, set := range sets {
		var name string
		var share float64
		if n, _ := fmt.Sscanf(set.name, "%s %g %%", &name, &share); n != 2 || set.modes[0] != "range" {
			continue
		}
		for _, text := range set.queries {
			q, err := protocol.ParseColumnQuery("range", text)
			if err != nil {
				t.Fatal(err)
			}
			least := max(1, int(share/100*testRows))
			if got := len(rowsByHand(t, c, q)); got < least || got > least+testRows/100 {
				t.Errorf("%s, %q: %d rows, want %d", set.name, text, got, least)
			}
			ranges++
		}
	}
	if ranges != 5*len(s.numbers)*len(rangeShares) {
		t.Errorf("%d ranges", ranges)
	}
}

func TestCompareValues(t *testing.T) {
	ref := []protocol.Hit{{ID: 4, Score: 1}, {ID: 2, Score: 5}, {ID: 3, Score: 5}}
	for _, tc := range []struct {
		name                   string
		other                  []protocol.Hit
		same, moved, tied, off int
	}{
		{"equal", []protocol.Hit{{ID: 4, Score: 1}, {ID: 2, Score: 5}, {ID: 3, Score: 5}}, 3, 0, 0, 0},
		{"nearly", []protocol.Hit{{ID: 4, Score: 1.0001}, {ID: 2, Score: 5}, {ID: 3, Score: 5}}, 2, 0, 0, 1},
		{"a tie in another order", []protocol.Hit{{ID: 4, Score: 1}, {ID: 3, Score: 5}, {ID: 2, Score: 5}}, 3, 2, 0, 0},
		{"cut off inside a tie", []protocol.Hit{{ID: 4, Score: 1}, {ID: 2, Score: 5}, {ID: 9, Score: 5}}, 2, 0, 1, 0},
		{"another document", []protocol.Hit{{ID: 9, Score: 1}, {ID: 2, Score: 5}, {ID: 3, Score: 5}}, 2, 0, 0, 1},
		{"fewer", []protocol.Hit{{ID: 4, Score: 1}, {ID: 2, Score: 5}}, 2, 0, 0, 1},
		{"more", []protocol.Hit{{ID: 4, Score: 1}, {ID: 2, Score: 5}, {ID: 3, Score: 5}, {ID: 5, Score: 6}}, 3, 0, 0, 1},
		{"none", nil, 0, 0, 0, 3},
	} {
		var a agreement
		a.compareValues(tc.name, ref, tc.other, sameValue)
		if a.Same != tc.same || a.Moved != tc.moved || a.Tied != tc.tied || a.Off != tc.off {
			t.Errorf("%s: same %d, moved %d, tied %d, off %d; want %d, %d, %d, %d", tc.name,
				a.Same, a.Moved, a.Tied, a.Off, tc.same, tc.moved, tc.tied, tc.off)
		}
	}
}
