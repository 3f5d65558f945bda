package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle/blockmax"
)

// How many of some clauses must match: a number of them; the number of those that may be missing, as a
// negative number; or either as a share in per cent, which Percent encodes.

// percentZero is Percent(0), above all numbers of clauses.
const percentZero = 1 << 24

// Percent is riffle.Percent.
func Percent(percent int) int {
	if percent < -100 || percent > 100 {
		return percentZero + 101 // of no use, which is reported with the query
	}
	return percentZero + percent
}

// percentOf returns what Percent has encoded.
func percentOf(least int) (percent int, ok bool) {
	percent = least - percentZero
	return percent, percent >= -100 && percent <= 100
}

// FormatLeast writes how many clauses must match: "2", "-1", "75%" or "-25%".
func FormatLeast(least int) string {
	if percent, ok := percentOf(least); ok {
		return fmt.Sprintf("%d%%", percent)
	}
	return strconv.Itoa(least)
}

// ParseLeast reads what FormatLeast writes.
func ParseLeast(text string) (least int, err error) {
	digits, share := strings.CutSuffix(text, "%")
	least, err = strconv.Atoi(digits)
	if err != nil || share && (least < -100 || least > 100) || !share && (least <= -percentZero/2 || least >= percentZero/2) {
		return 0, fmt.Errorf(`%q is no number of clauses (want one like "2", "-1", "75%%" or "-25%%")`, text)
	}
	if share {
		least = Percent(least)
	}
	return least, nil
}

// leastOf returns how many of n clauses must match, 0 to n. A share is rounded towards zero, as in
// Lucene: 75% of five are three, and with -25% one of five may be missing.
func leastOf(least, n int) int {
	if percent, ok := percentOf(least); ok {
		least = n * percent / 100
		if percent < 0 {
			least += n
		}
	} else if least < 0 {
		least += n
	}
	return max(0, min(least, n))
}

// checkLeast reports what is no number of clauses that must match.
func checkLeast(part string, least int) error {
	if _, ok := percentOf(least); ok || least > -percentZero/2 && least < percentZero/2 {
		return nil
	}
	return Errorf(part, "must be a number of clauses, or Percent of -100 to 100, not %d", least)
}

// require returns the clause of words of a match, of which as many as it says must match.
func (q *Match) require(words []Clause) Clause {
	least := leastOf(q.MinShould, len(words))
	switch {
	case q.MinShould == 0 && q.Mode == blockmax.And, least == len(words):
		return allClause(words)
	case least <= 1:
		return anyClause(words)
	}
	return Clause{kind: clauseBool, should: words, min: least}
}

// matchLeast is match with a MinShould. Terms at one position are one word, as under And.
func (rw *Rewriter) matchLeast(q Match, fields []string, boost float64) (Clause, error) {
	var m matchWords
	var err error
	q.Mode = blockmax.And
	switch {
	case len(fields) == 1 && !q.combinesOne(fields[0]):
		m, err = rw.oneField(q, fields[0], boost)
	case q.Combine == CombineBest:
		return rw.bestField(q, fields, boost)
	default:
		m, err = rw.severalFields(q, fields, boost)
	}
	if err != nil || len(m.required) == 0 {
		return Clause{kind: clauseBool, should: m.whole}, err
	}
	out := q.require(m.required)
	if len(m.optional) > 0 {
		out = Clause{kind: clauseBool, must: []Clause{out}, should: m.optional}
	}
	if len(m.whole) > 0 {
		out = Clause{kind: clauseBool, should: append(m.whole, out)}
	}
	return out, nil
}
