package plan

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/riffle-search/riffle/blockmax"
)

// Statistics are what BM25 needs to know of a collection for some queries.
type Statistics struct {
	Fields map[string]FieldStatistics `json:"fields"`

	// Functions are bounds on the values of the query's functions (FunctionScore), in the order of the query.
	Functions []float64 `json:"functions,omitempty"`

	// Traits decide what the query means. Nil if it means the same in any index.
	Traits *Traits `json:"traits,omitempty"`
}

// FieldStatistics are those of one field.
type FieldStatistics struct {
	Documents uint64            // that have the field
	Tokens    uint64            // in all of them; 0 where no lengths are kept
	Terms     map[string]uint64 // documents that have each term, as it is indexed
}

// Add adds the statistics of another collection that has no document in common.
func (s *Statistics) Add(o *Statistics) {
	s.addNumbers(o)
	if !o.Traits.IsZero() {
		if s.Traits == nil {
			s.Traits = &Traits{}
		}
		s.Traits.add(o.Traits)
	}
}

// addNumbers is Add without the traits.
func (s *Statistics) addNumbers(o *Statistics) {
	for i, greatest := range o.Functions {
		if i == len(s.Functions) {
			s.Functions = append(s.Functions, 0)
		}
		s.Functions[i] = max(s.Functions[i], greatest)
	}
	if s.Fields == nil {
		s.Fields = make(map[string]FieldStatistics, len(o.Fields))
	}
	for name, from := range o.Fields {
		f := s.Fields[name]
		f.Documents = saturated(f.Documents, from.Documents)
		f.Tokens = saturated(f.Tokens, from.Tokens)
		terms := make(map[string]uint64, max(len(f.Terms), len(from.Terms)))
		for _, m := range [...]map[string]uint64{f.Terms, from.Terms} {
			for term, n := range m {
				terms[term] = saturated(terms[term], n)
			}
		}
		f.Terms = terms
		s.Fields[name] = f
	}
}

func saturated(a, b uint64) uint64 {
	if a+b < a {
		return math.MaxUint64
	}
	return a + b
}

// fieldJSON is the JSON form. Terms that are not text, such as those of numbers, are in binary, in
// base64.
type fieldJSON struct {
	Documents uint64            `json:"documents"`
	Tokens    uint64            `json:"tokens"`
	Terms     map[string]uint64 `json:"terms,omitempty"`
	Binary    map[string]uint64 `json:"binary,omitempty"`
}

// MarshalJSON implements json.Marshaler: {"documents": 3, "tokens": 20, "terms": {"whale": 2}}.
func (f FieldStatistics) MarshalJSON() ([]byte, error) {
	j := fieldJSON{Documents: f.Documents, Tokens: f.Tokens, Terms: map[string]uint64{}, Binary: map[string]uint64{}}
	for term, n := range f.Terms {
		if utf8.ValidString(term) && !strings.HasPrefix(term, "\x00") {
			j.Terms[term] = n
		} else {
			j.Binary[base64.StdEncoding.EncodeToString([]byte(term))] = n
		}
	}
	return json.Marshal(j)
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *FieldStatistics) UnmarshalJSON(data []byte) error {
	var j fieldJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*f = FieldStatistics{j.Documents, j.Tokens, j.Terms}
	for text, n := range j.Binary {
		term, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return fmt.Errorf("the binary term %q is not base64: %w", text, err)
		}
		if f.Terms == nil {
			f.Terms = map[string]uint64{}
		}
		f.Terms[string(term)] = n
	}
	return nil
}

// Statistics returns the statistics behind the weights of the query's terms, by name. It leaves out
// terms on which no score depends, as AppendStatistics does.
func (c *Compiled) Statistics(x Index) *Statistics {
	s := &Statistics{Fields: map[string]FieldStatistics{}}
	for i := range c.functions {
		s.Functions = append(s.Functions, c.functions[i].greatest)
	}
	field := func(name string) FieldStatistics {
		f, ok := s.Fields[name]
		if !ok {
			f.Terms = map[string]uint64{}
			f.Documents, f.Tokens = x.Totals(name)
			if (c.gathered.field(name)|c.traits.field(name))&aspectTerms != 0 {
				f.Tokens = x.Tokens(name) // other indexes may have lengths: SumStatistics decides
			}
			s.Fields[name] = f
		}
		return f
	}
	for i := range c.terms {
		if t := &c.terms[i]; t.counts && t.chosen == nil {
			field(t.field).Terms[t.term] = t.docFreq
		}
	}
	for _, traits := range [...]*Traits{c.traits, c.gathered} {
		if traits == nil {
			continue
		}
		for _, choice := range traits.Choices {
			for _, name := range choice.Fields {
				field(name)
			}
		}
	}
	if !c.gathered.IsZero() {
		s.Traits = c.gathered
	}
	return s
}

// Fingerprint returns a hash of all that turns frequencies and lengths into scores: parameters, terms and
// their statistics, weights and the scale. Plans of several indexes for one query agree in it if, and
// practically only if, their scores can be compared.
func (c *Compiled) Fingerprint() uint64 {
	h := fnv.New64a()
	var b []byte
	float := func(x float64) { b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x)) }
	for _, x := range [...]float64{c.sim.K1, c.sim.B, float64(c.sim.IDF), c.alpha, c.Scale, float64(c.Plan.RankWeight)} {
		float(x)
	}
	for i := range c.terms {
		t := &c.terms[i]
		if !t.counts {
			continue // where filters and exclusions are answered depends on the index
		}
		b = appendText(appendText(b, t.field), t.term)
		b = binary.AppendUvarint(binary.AppendUvarint(b, t.docs), t.docFreq)
		float(t.weight)
		b = binary.AppendUvarint(b, uint64(c.Plan.Weights[i]))
		if b = append(b, 0); t.table != nil {
			float(t.table.Key().Avg)
		}
	}
	for i := range c.functions {
		b = binary.AppendVarint(b, int64(c.functions[i].exponent))
	}
	for _, n := range c.others {
		b = binary.AppendUvarint(b, uint64(n))
	}
	h.Write(b)
	return h.Sum64()
}

// weighBy weighs the terms by statistics from outside.
func (b *planner) weighBy(s *Statistics) error {
	var last *planTerm
	for i := range b.terms {
		t := &b.terms[i]
		if !t.counts {
			continue
		}
		f, ok := s.Fields[t.field]
		if ok {
			if t.docFreq, ok = f.Terms[t.term]; !ok && t.chosen != nil {
				t.docFreq, ok = t.chosen.Documents, true
			}
		}
		if !ok {
			return Errorf("SearchOptions.Statistics", "lack the term %q of field %q; they must be of the same query", printable(t.term), t.field)
		}
		if last != nil && t.field == last.field {
			t.docs, t.table = last.docs, last.table
		} else {
			t.docs, t.table = f.Documents, b.outsideTable(t.field, f)
		}
		last = t
		t.weigh(b.sim)
	}
	return nil
}

// outsideTable returns the impact table of a field by its statistics in all indexes. This one may lack the
// field's lengths, or all of the field.
func (b *planner) outsideTable(field string, f FieldStatistics) *blockmax.Table {
	switch {
	case f.Tokens > 0 && f.Documents > 0:
		return b.index.LengthTable(b.sim, float64(f.Tokens)/float64(f.Documents))
	case f.Documents > 0:
		return b.index.Table(field, b.sim, 0)
	}
	return b.index.Table(field, b.sim, 1)
}

// AppendStatistics appends the statistics behind the query's weights, for Settings.Frozen. For each
// term whose field differs from that of the previous term, it writes the number of documents that
// have the field (uvarint) and their average length (IEEE 754, little endian). Then it writes how
// many documents have the term (uvarint). It leaves out terms on which no score depends: the next
// plan may have a cached filter in their place. The exponents of functions (zigzag varint) come first.
func (c *Compiled) AppendStatistics(dst []byte) []byte {
	for i := range c.functions {
		dst = binary.AppendVarint(dst, int64(c.functions[i].exponent))
	}
	var last *planTerm
	for i := range c.terms {
		t := &c.terms[i]
		if !t.counts {
			continue
		}
		if last == nil || t.field != last.field {
			dst = binary.AppendUvarint(dst, t.docs)
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(t.table.Key().Avg))
		}
		last = t
		dst = binary.AppendUvarint(dst, t.docFreq)
	}
	return dst
}

// thaw weighs the terms by the output of AppendStatistics for the same query.
func (b *planner) thaw(frozen string) error {
	data, ok := []byte(frozen), true
	uvarint := func() uint64 {
		n, size := binary.Uvarint(data)
		if size <= 0 {
			ok = false
			return 0
		}
		data = data[size:]
		return n
	}
	average := 0.0
	var last *planTerm
	for i := range b.terms {
		t := &b.terms[i]
		if !t.counts {
			continue
		}
		if last != nil && t.field == last.field {
			t.docs, t.table = last.docs, last.table
		} else {
			t.docs = uvarint()
			if len(data) < 8 {
				ok = false
				break
			}
			average, data = math.Float64frombits(binary.LittleEndian.Uint64(data)), data[8:]
			if !(average >= 0 && average <= math.MaxUint64) {
				ok = false
				break
			}
			t.table = b.index.Table(t.field, b.sim, average)
		}
		t.docFreq = uvarint()
		last = t
		t.weigh(b.sim)
	}
	if !ok || len(data) > 0 {
		return errFrozen
	}
	return nil
}
