package trec

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Qrels are judgements: query id, then document id, to grade. A grade below 1 is
// a document judged and found not relevant.
type Qrels map[string]map[string]int

// maxGrade bounds grades in either direction, as in trec_eval.
const maxGrade = 127

var beirHeader = []string{"query-id", "corpus-id", "score"}

// ReadQrels reads judgements of three fields (query, document, grade) or of NIST's four (query,
// ignored, document, grade) to a line, the same number on every line. Errors call r by name.
func ReadQrels(name string, r io.Reader) (Qrels, error) {
	qrels, columns := make(Qrels), 0
	err := eachLine(name, r, func(number int, line string) error {
		f := strings.Fields(line)
		if strings.HasPrefix(f[0], "#") || number == 1 && slices.Equal(f, beirHeader) {
			return nil
		}
		if len(f) != 3 && len(f) != 4 {
			return fmt.Errorf("%d fields, want 3 (query, document, grade) or 4 (query, 0, document, grade)", len(f))
		}
		if columns == 0 {
			columns = len(f)
		}
		if len(f) != columns {
			return fmt.Errorf("%d fields where earlier lines have %d", len(f), columns)
		}
		return qrels.add(f[0], f[len(f)-2], f[len(f)-1])
	})
	if err != nil {
		return nil, err
	}
	return qrels, nil
}

func (q Qrels) add(query, doc, grade string) error {
	g, err := strconv.Atoi(grade)
	if err != nil || g < -maxGrade || g > maxGrade {
		return fmt.Errorf("grade %q, want an integer from %d to %d", grade, -maxGrade, maxGrade)
	}
	judged := q[query]
	if judged == nil {
		judged = make(map[string]int)
		q[query] = judged
	}
	if _, dup := judged[doc]; dup {
		return fmt.Errorf("document %q of query %q is judged twice", doc, query)
	}
	judged[doc] = g
	return nil
}
