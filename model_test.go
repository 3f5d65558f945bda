package riffle

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A model is a naive index: a map from id to document, searched by looking at every document. It
// shares no code with the engine, and in particular no analyzers: texts are lower-case words
// separated by spaces, so that strings.Fields analyses them as "standard" does.
//
// Documents in it never change, so that a clone of the map is a snapshot.
type model map[string]modelDoc

// A modelDoc is a document as it is put: field name to string, []string, int,
// float64 or bool.
type modelDoc map[string]any

// modelKeyword is the field whose strings are one term each.
const modelKeyword = "tag"

// modelSchema declares that field. The others follow from their values.
var modelSchema = &Schema{Fields: map[string]Field{modelKeyword: {Type: FieldKeyword}}}

// modelTerms returns the terms of a value.
func modelTerms(field string, v any) []string {
	switch v := v.(type) {
	case string:
		if field == modelKeyword {
			return []string{v}
		}
		return strings.Fields(v)
	case []string:
		return strings.Fields(strings.Join(v, " "))
	case bool:
		return []string{fmt.Sprintf("?%t", v)}
	case int:
		return []string{fmt.Sprintf("#%d", v)}
	case float64:
		return []string{fmt.Sprintf("#%g", v)} // 1.0 is the same term as 1
	case nil:
		return nil
	}
	panic(fmt.Sprintf("model: value %#v", v))
}

// stored returns the document as Get returns it.
func (d modelDoc) stored() map[string]any {
	out := map[string]any{}
	for name, v := range d {
		switch v := v.(type) {
		case []string:
			var list []any
			for _, s := range v {
				list = append(list, s)
			}
			if len(list) == 1 {
				out[name] = list[0]
			} else if len(list) > 1 {
				out[name] = list
			}
		case int:
			out[name] = int64(v)
		case float64:
			if out[name] = v; v == math.Trunc(v) {
				out[name] = int64(v)
			}
		default:
			out[name] = v
		}
	}
	return out
}

func (d modelDoc) tf(field, term string) int {
	n := 0
	for _, t := range modelTerms(field, d[field]) {
		if t == term {
			n++
		}
	}
	return n
}

// ids returns the ids of all documents in ascending order.
func (m model) ids() []string { return slices.Sorted(maps.Keys(m)) }

// matches returns the ids of the documents that a search for q with this k
// matches, in ascending order.
func (m model) matches(q Query, k int) []string {
	if q, ok := q.(Match); ok && q.Mode == ModeAndOr {
		q.Mode = ModeAnd
		if all := m.matches(q, k); len(all) >= k {
			return all
		}
		q.Mode = ModeOr
		return m.matches(q, k)
	}
	ids := []string{}
	for _, id := range m.ids() {
		if ok, _ := m[id].eval(q, nil, 1); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// eval matches one document, and with statistics scores it.
func (d modelDoc) eval(q Query, st *modelStats, boost float64) (ok bool, score float64) {
	switch q := q.(type) {
	case All:
		return true, 0
	case Term:
		terms := modelTerms(q.Field, q.Value)
		if s, isText := q.Value.(string); isText {
			terms = []string{s} // not analysed
		}
		return d.tf(q.Field, terms[0]) > 0, st.score(d, q.Field, terms[0], boost)
	case Match:
		return d.evalMatch(q, st, boost)
	case Boost:
		return d.eval(q.Query, st, boost*q.By)
	case ConstantScore:
		ok, _ := d.eval(q.Query, nil, 1)
		if !ok {
			return false, 0
		}
		return true, boost * q.Score
	case Bool:
		return d.evalBool(q, st, boost)
	}
	panic(fmt.Sprintf("model: query %T", q))
}

func (d modelDoc) evalMatch(q Match, st *modelStats, boost float64) (ok bool, score float64) {
	words := strings.Fields(q.Text)
	found := 0
	for _, w := range words {
		in := false
		for _, field := range q.fields() {
			if d.tf(field, w) > 0 {
				in = true
				score += st.score(d, field, w, boost)
			}
		}
		if in {
			found++
		}
	}
	ok = found > 0
	if q.Mode == ModeAnd {
		ok = found == len(words) && found > 0
	}
	return ok, score
}

func (q Match) fields() []string {
	if q.Field != "" {
		return []string{q.Field}
	}
	return q.Fields
}

func (d modelDoc) evalBool(q Bool, st *modelStats, boost float64) (ok bool, score float64) {
	ok = true
	for _, c := range q.Must {
		hit, s := d.eval(c, st, boost)
		ok = ok && hit
		score += s
	}
	should := 0
	for _, c := range q.Should {
		if hit, s := d.eval(c, st, boost); hit {
			should++
			score += s
		}
	}
	for _, c := range q.Filter {
		hit, _ := d.eval(c, nil, 1)
		ok = ok && hit
	}
	for _, c := range q.MustNot {
		hit, _ := d.eval(c, nil, 1)
		ok = ok && !hit
	}
	least := q.MinShould
	if least == 0 && len(q.Must)+len(q.Filter) == 0 && len(q.Should) > 0 {
		least = 1
	}
	return ok && should >= least, score
}

// modelStats are the inputs of BM25, counted over the live documents. The engine counts deleted
// ones too, until they are merged away.
type modelStats struct {
	sim    BM25
	docs   map[string]int // field -> documents that have it
	tokens map[string]int
	freq   map[[2]string]int // field, term -> documents that have it
	text   map[string]bool   // field -> some value of it was analysed
}

func (m model) stats(sim BM25) *modelStats {
	st := &modelStats{sim, map[string]int{}, map[string]int{}, map[[2]string]int{}, map[string]bool{}}
	for _, d := range m {
		for field, v := range d {
			terms := modelTerms(field, v)
			if len(terms) == 0 {
				continue
			}
			st.docs[field]++
			st.tokens[field] += len(terms)
			switch v.(type) {
			case string, []string:
				st.text[field] = field != modelKeyword
			}
			slices.Sort(terms)
			for _, t := range slices.Compact(terms) {
				st.freq[[2]string{field, t}]++
			}
		}
	}
	return st
}

// weight is boost × idf, with Lucene's idf.
func (st *modelStats) weight(field, term string, boost float64) float64 {
	n, N := float64(st.freq[[2]string{field, term}]), float64(st.docs[field])
	return boost * math.Log(1+(N-n+0.5)/(n+0.5))
}

// score is textbook BM25, except for the average length, which the contract rounds to four digits.
func (st *modelStats) score(d modelDoc, field, term string, boost float64) float64 {
	tf := float64(d.tf(field, term))
	if st == nil || tf == 0 {
		return 0
	}
	k := st.sim.K1
	if st.text[field] {
		avg, _ := strconv.ParseFloat(fmt.Sprintf("%.3e", float64(st.tokens[field])/float64(st.docs[field])), 64)
		k *= 1 - st.sim.B + st.sim.B*float64(len(modelTerms(field, d[field])))/avg
	}
	return st.weight(field, term, boost) * tf / (tf + k)
}

// weights returns the sum of the weights of everything in q that scores. With a static rank, words
// that no document has weigh nothing.
func (st *modelStats) weights(q Query, boost float64, ranked bool) (sum float64) {
	weight := func(field, term string) float64 {
		if ranked && st.freq[[2]string{field, term}] == 0 {
			return 0
		}
		return st.weight(field, term, boost)
	}
	switch q := q.(type) {
	case Term:
		terms := modelTerms(q.Field, q.Value)
		if s, isText := q.Value.(string); isText {
			terms = []string{s}
		}
		return weight(q.Field, terms[0])
	case Match:
		for _, w := range strings.Fields(q.Text) {
			for _, field := range q.fields() {
				sum += weight(field, w)
			}
		}
	case Boost:
		return st.weights(q.Query, boost*q.By, ranked)
	case ConstantScore:
		return boost * q.Score
	case Bool:
		for _, c := range slices.Concat(q.Must, q.Should) {
			sum += st.weights(c, boost, ranked)
		}
	}
	return sum
}

// modelQueries makes random documents and queries over few words, so that
// matches, ties and replaced documents are common.
type modelQueries struct{ *rand.Rand }

// word follows something like Zipf's law over 40 words.
func (r modelQueries) word() string { return fmt.Sprintf("w%d", int(math.Pow(40, r.Float64()))) }

func (r modelQueries) words(n int) string {
	var ws []string
	for range n {
		ws = append(ws, r.word())
	}
	return strings.Join(ws, " ")
}

func (r modelQueries) id() string {
	if r.IntN(50) == 0 {
		return strings.Repeat("é", 1+r.IntN(400)) // up to 800 bytes
	}
	return fmt.Sprintf("d%d", r.IntN(150))
}

func (r modelQueries) tag() string { return fmt.Sprintf("Tag %d", r.IntN(5)) }

func (r modelQueries) doc() modelDoc {
	d := modelDoc{"num": r.IntN(8)}
	switch r.IntN(10) {
	case 0: // no text
	case 1:
		d["text"] = "" // one without a word
	case 2:
		d["text"] = []string{r.words(r.IntN(5)), r.words(3)}
	default:
		d["text"] = r.words(1 + r.IntN(25)) // lengths up to 40 are exact in an index
	}
	if r.IntN(3) > 0 {
		d["title"] = r.words(r.IntN(4))
	}
	if r.IntN(3) > 0 {
		d[modelKeyword] = r.tag()
	}
	if r.IntN(4) > 0 {
		d["rank"] = float64(r.IntN(5)) / 4
	}
	if r.IntN(4) == 0 {
		d["flag"] = r.IntN(2) == 0
	}
	return d
}

// query makes a query of limited depth. AndOr is for the outermost level only.
func (r modelQueries) query(depth int) Query {
	if depth == 0 || r.IntN(3) == 0 {
		return r.leaf()
	}
	switch r.IntN(8) {
	case 0:
		return Boost{r.query(depth - 1), float64(r.IntN(5)) / 2}
	case 1:
		return ConstantScore{r.query(depth - 1), float64(r.IntN(4))}
	}
	b := Bool{Must: r.queries(depth), Should: r.queries(depth), Filter: r.queries(depth), MustNot: r.queries(depth)}
	if len(b.Must)+len(b.Should)+len(b.Filter)+len(b.MustNot) == 0 {
		b.Must = []Query{r.leaf()}
	}
	b.MinShould = r.IntN(len(b.Should) + 1)
	return b
}

func (r modelQueries) queries(depth int) []Query {
	var qs []Query
	for range max(0, r.IntN(5)-2) {
		qs = append(qs, r.query(depth-1))
	}
	return qs
}

func (r modelQueries) leaf() Query {
	switch r.IntN(10) {
	case 0:
		return Term{modelKeyword, r.tag()}
	case 1:
		return Term{"num", r.IntN(9)}
	case 2:
		return Term{"text", r.word()}
	case 3:
		return Term{"flag", r.IntN(2) == 0}
	case 4:
		return All{}
	case 5:
		return Match{Fields: []string{"title", "text"}, Text: r.words(1 + r.IntN(3)), Mode: Mode(r.IntN(2))}
	}
	return Match{Field: "text", Text: r.words(r.IntN(5)), Mode: Mode(r.IntN(2))}
}
