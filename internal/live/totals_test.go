package live

import (
	"math"
	"testing"

	"github.com/riffle-search/riffle/segment"
)

// tokens is a segment whose only field claims this number of tokens.
type tokens struct {
	segment.Reader
	n uint64
}

func (r tokens) Field(name string) (segment.FieldInfo, bool) {
	return segment.FieldInfo{Name: name, Norms: true, Docs: 1, Tokens: r.n}, true
}

// TestTokensDoNotOverflow: a sum of tokens that is too large stays large, and so does the average
// length.
func TestTokensDoNotOverflow(t *testing.T) {
	v := &View{segs: []Segment{{reader: tokens{n: math.MaxUint64}}, {reader: tokens{n: 2}}, {reader: tokens{n: 5}}}}
	if got := v.field("text"); got.tokens != math.MaxUint64 || !(got.average() > math.MaxUint64/4) {
		t.Errorf("%d tokens, %v on average", got.tokens, got.average())
	}
	v = &View{segs: []Segment{{reader: tokens{n: 3}}, {reader: tokens{n: 5}}}}
	if got := v.field("text"); got.tokens != 8 || got.average() != 4 {
		t.Errorf("%d tokens, %v on average", got.tokens, got.average())
	}
}
