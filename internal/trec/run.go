package trec

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Hit is one retrieved document.
type Hit struct {
	Doc   string
	Score float64
}

// A Run maps query ids to what was retrieved, best first, in trec_eval's order.
type Run map[string][]Hit

// ReadRun reads a run file. Ranks are ignored: hits are sorted by score, ties by
// document id in descending byte order, as trec_eval does. Errors call r by
// name.
func ReadRun(name string, r io.Reader) (Run, error) {
	read := make(map[string][]runLine)
	err := eachLine(name, r, func(number int, line string) error {
		f := strings.Fields(line)
		if strings.HasPrefix(f[0], "#") {
			return nil
		}
		if len(f) != 6 {
			return fmt.Errorf("%d fields, want 6 (query, Q0, document, rank, score, tag)", len(f))
		}
		score, err := strconv.ParseFloat(f[4], 64)
		if err != nil || math.IsNaN(score) {
			return fmt.Errorf("score %q is not a number", f[4])
		}
		// Cloned, because a slice of a line keeps the whole line in memory.
		hit := Hit{Doc: strings.Clone(f[2]), Score: score}
		read[f[0]] = append(read[f[0]], runLine{hit, number})
		return nil
	})
	if err != nil {
		return nil, err
	}
	run := make(Run, len(read))
	for query, lines := range read {
		if run[query], err = sortHits(name, query, lines); err != nil {
			return nil, err
		}
	}
	return run, nil
}

// A runLine is a hit and its line in the file.
type runLine struct {
	Hit
	number int
}

// sortHits puts the hits of one query in order and refuses a document that occurs twice.
func sortHits(file, query string, lines []runLine) ([]Hit, error) {
	slices.SortFunc(lines, func(a, b runLine) int {
		return cmp.Or(cmp.Compare(a.Doc, b.Doc), a.number-b.number)
	})
	hits := make([]Hit, len(lines))
	for i, l := range lines {
		if i > 0 && l.Doc == lines[i-1].Doc {
			return nil, &LineError{file, l.number, fmt.Sprintf("document %q is already retrieved for query %q on line %d", l.Doc, query, lines[i-1].number)}
		}
		hits[i] = l.Hit
	}
	slices.SortFunc(hits, compareHits)
	return hits, nil
}

func compareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Doc, a.Doc))
}

// A RunWriter writes a run file. Call Flush at the end.
type RunWriter struct {
	w    *bufio.Writer
	tag  string
	line []byte
}

// NewRunWriter writes to w, with tag in the last column (no white space).
func NewRunWriter(w io.Writer, tag string) (*RunWriter, error) {
	if err := checkID("run", tag); err != nil {
		return nil, err
	}
	return &RunWriter{w: bufio.NewWriter(w), tag: tag}, nil
}

// Write writes what was retrieved for one query, best first. Written scores decrease strictly, so
// that sorting by them restores this order (see the package comment). Scores that increase or are
// not finite are an error, and then Write writes nothing of the query.
func (w *RunWriter) Write(query string, hits []Hit) error {
	if err := checkHits(query, hits); err != nil {
		return err
	}
	above := float32(math.Inf(1))
	for i, h := range hits {
		score := fallBelow(above, h.Score)
		above = score
		b := append(w.line[:0], query...)
		b = append(b, " Q0 "...)
		b = append(b, h.Doc...)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(i)+1, 10)
		b = append(b, ' ')
		b = strconv.AppendFloat(b, float64(score), 'f', -1, 32)
		b = append(b, ' ')
		b = append(b, w.tag...)
		w.line = append(b, '\n')
		if _, err := w.w.Write(w.line); err != nil {
			return err
		}
	}
	return nil
}

// Flush writes what is buffered.
func (w *RunWriter) Flush() error { return w.w.Flush() }

func checkHits(query string, hits []Hit) error {
	if err := checkID("query", query); err != nil {
		return err
	}
	if strings.HasPrefix(query, "#") {
		return fmt.Errorf("query id %q would read as a comment", query)
	}
	above := math.Inf(1)
	for i, h := range hits {
		if err := checkID("document", h.Doc); err != nil {
			return fmt.Errorf("query %s, rank %d: %w", query, i+1, err)
		}
		if math.IsNaN(h.Score) || math.Abs(h.Score) > math.MaxFloat32/2 {
			return fmt.Errorf("query %s, rank %d: score %v cannot be written", query, i+1, h.Score)
		}
		if h.Score > above {
			return fmt.Errorf("query %s, rank %d: score %v is above the one before it", query, i+1, h.Score)
		}
		above = h.Score
	}
	return nil
}

// tieStep is the least distance between two written scores. It matters only below 1, where
// neighboring float32 are so close that around 0 they would be written with forty digits.
const tieStep = 1e-7

// fallBelow returns score as a float32, or the highest number fit for writing that is below the
// score above it.
func fallBelow(above float32, score float64) float32 {
	if s := float32(score); s < above {
		return s
	}
	next := math.Nextafter32(above, float32(math.Inf(-1)))
	return min(next, float32(float64(above)-tieStep))
}
