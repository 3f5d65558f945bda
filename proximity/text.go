package proximity

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns the positions of the interval: "12-14", or "12" for one.
func (v Interval) String() string {
	if v.Start == v.End {
		return strconv.FormatUint(uint64(v.Start), 10)
	}
	return fmt.Sprintf("%d-%d", v.Start, v.End)
}

// Text prints an expression over terms with these names, for people: `"white * whale"~2`,
// `ordered(a, b)`.
func (e *Expr) Text(names []string) string {
	switch e.Op {
	case Word:
		words := make([]string, len(e.Terms))
		for i, t := range e.Terms {
			words[i] = names[t]
		}
		return strings.Join(words, "|")
	case Phrase:
		var words []string
		for i := range e.Parts {
			if i > 0 {
				for at := e.Offsets[i-1] + 1; at < e.Offsets[i] && at < e.Offsets[i-1]+10; at++ {
					words = append(words, "*")
				}
			}
			words = append(words, e.Parts[i].Text(names))
		}
		text := `"` + strings.Join(words, " ") + `"`
		if e.Max > 0 {
			text += fmt.Sprintf("~%d", e.Max)
		}
		return text
	}
	parts := make([]string, len(e.Parts))
	for i := range e.Parts {
		parts[i] = e.Parts[i].Text(names)
	}
	name := e.Op.String()
	if e.Op == Near || e.Op == First || e.Op == Repeat || (e.Op == Ordered || e.Op == Unordered) && e.Max != NoLimit {
		name += fmt.Sprintf("/%d", e.Max)
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}
