package riffle

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle/columns"
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

// modelSchema declares that field, and fields that updates can change. The others follow from their values.
var modelSchema = &Schema{Fields: map[string]Field{
	modelKeyword: {Type: FieldKeyword},
	"sold":       {Type: FieldNumber, NoIndex: true, Column: ColumnStored},
	"mark":       {Type: FieldKeyword, NoIndex: true, Column: ColumnStored},
}}

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

// columns returns the values that the columns of the documents have by a schema: all but texts.
func (m model) columns(schema *Schema) map[string]columnValues {
	all := map[string]columnValues{}
	for id, d := range m {
		values := columnValues{}
		for name, v := range d {
			switch v := v.(type) {
			case string:
				if schema.Fields[name].Type == FieldKeyword {
					values[name] = []columns.Value{columns.OfString(v)}
				}
			case int:
				values[name] = []columns.Value{columns.OfInt(int64(v))}
			case float64:
				values[name] = []columns.Value{columns.OfFloat(v)}
			case bool:
				values[name] = []columns.Value{columns.OfBool(v)}
			}
		}
		all[id] = values
	}
	return all
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
	case Phrase:
		n := d.count(q)
		if st == nil || n == 0 {
			return n > 0, 0
		}
		return true, st.weights(q, boost, false) * st.saturation(d, q.Field, n)
	case PhrasePrefix:
		n := d.countPrefix(q)
		if len(strings.Fields(q.Text)) == 1 {
			return n > 0, boost
		}
		if st == nil || n == 0 {
			return n > 0, 0
		}
		return true, st.weights(q, boost, false) * st.saturation(d, q.Field, n)
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
	case DisMax:
		sum, best := 0.0, 0.0
		for _, sub := range q.Queries {
			if hit, s := d.eval(sub, st, boost); hit {
				ok, sum, best = true, sum+s, max(best, s)
			}
		}
		return ok, best + q.Tie*(sum-best)
	case Boosting:
		if ok, score = d.eval(q.Positive, st, boost); ok {
			if hit, _ := d.eval(q.Negative, nil, 1); hit {
				score *= q.Factor
			}
		}
		return ok, score
	case MatchBoolPrefix:
		return d.evalBoolPrefix(q, st, boost)
	case Fuzzy:
		return d.evalFuzzy(q, st, boost)
	case Exists:
		return len(modelTerms(q.Field, d[q.Field])) > 0, boost
	case Range:
		return modelBetween(q, d[q.Field]), boost
	case Terms:
		for _, v := range q.Values {
			if ok, _ := d.eval(Term{q.Field, v}, nil, 1); ok {
				return true, boost
			}
		}
		return false, 0
	}
	if field, picks := modelPattern(q); picks != nil {
		return slices.ContainsFunc(modelTerms(field, d[field]), picks), boost
	}
	panic(fmt.Sprintf("model: query %T", q))
}

// modelBetween reports whether a number is in a range.
func modelBetween(q Range, v any) bool {
	number := func(v any) (float64, bool) {
		switch v := v.(type) {
		case int:
			return float64(v), true
		case float64:
			return v, true
		}
		return 0, false
	}
	x, ok := number(v)
	if from, bound := number(q.From); ok && bound {
		ok = x > from || x == from && !q.ExcludeFrom
	}
	if to, bound := number(q.To); ok && bound {
		ok = x < to || x == to && q.IncludeTo
	}
	return ok
}

// modelPattern returns the field of a query for terms by what they look like, and whether it picks a
// term; or nil for any other query.
func modelPattern(q Query) (field string, picks func(term string) bool) {
	lower := func(field, s string, raw bool) string {
		if raw || field == modelKeyword {
			return s
		}
		return strings.ToLower(s)
	}
	switch q := q.(type) {
	case Prefix:
		return q.Field, func(term string) bool { return strings.HasPrefix(term, lower(q.Field, q.Prefix, q.Raw)) }
	case Wildcard:
		expr := strings.NewReplacer("*", ".*", "?", ".").Replace(regexp.QuoteMeta(lower(q.Field, q.Pattern, q.Raw)))
		expr = strings.NewReplacer(`\.*`, ".*", `\.`, ".").Replace(expr) // QuoteMeta had escaped the stars
		return q.Field, regexp.MustCompile(`(?s)^(?:` + expr + `)$`).MatchString
	case Regexp:
		return q.Field, regexp.MustCompile(`(?s)^(?:` + lower(q.Field, q.Expr, q.Raw) + `)$`).MatchString
	case TermRange:
		from, to := lower(q.Field, q.From, q.Raw), lower(q.Field, q.To, q.Raw)
		return q.Field, func(term string) bool {
			return (term > from || term == from && !q.ExcludeFrom) && (to == "" || term < to || term == to && q.IncludeTo)
		}
	}
	return "", nil
}

// modelEdits is the number of edits between two words, by recursion on their ends, or -1 if a fuzzy
// word does not match.
func modelEdits(q Fuzzy, term string) int {
	most := max(q.Edits, 0)
	if q.Edits == AutoEdits {
		most = []int{0, 0, 0, 1, 1, 1}[min(len(q.Term), 5)]
		if len(q.Term) > 5 {
			most = 2
		}
	}
	var edits func(a, b string) int
	edits = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		i, j := len(a)-1, len(b)-1
		best := min(edits(a[:i], b), edits(a, b[:j])) + 1
		if a[i] == b[j] {
			best = min(best, edits(a[:i], b[:j]))
		} else {
			best = min(best, edits(a[:i], b[:j])+1)
		}
		if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
			best = min(best, edits(a[:i-1], b[:j-1])+1)
		}
		return best
	}
	n := edits(q.Term, term)
	if n > most || n > 0 && n >= min(len(q.Term), len(term)) || !strings.HasPrefix(term, q.Term[:min(q.Prefix, len(q.Term))]) {
		return -1
	}
	return n
}

// fuzzyWeights returns the weights of the terms that a fuzzy word stands for.
func (st *modelStats) fuzzyWeights(q Fuzzy, boost float64) map[string]float64 {
	weights, most := map[string]float64{}, 0
	for key, n := range st.freq {
		if key[0] != q.Field {
			continue
		}
		if e := modelEdits(q, key[1]); e >= 0 {
			weights[key[1]] = boost * (1 - float64(e)/float64(max(1, min(len(q.Term), len(key[1])))))
			most = max(most, n)
		}
	}
	n, N := float64(most), float64(st.docs[q.Field])
	for term := range weights {
		weights[term] *= math.Log(1 + (N-n+0.5)/(n+0.5))
	}
	return weights
}

func (d modelDoc) evalFuzzy(q Fuzzy, st *modelStats, boost float64) (ok bool, score float64) {
	for _, term := range modelTerms(q.Field, d[q.Field]) {
		ok = ok || modelEdits(q, term) >= 0
	}
	if st != nil {
		for term, w := range st.fuzzyWeights(q, boost) {
			if tf := d.tf(q.Field, term); tf > 0 {
				score += w * st.saturation(d, q.Field, tf)
			}
		}
	}
	return ok, score
}

// count returns how often a phrase occurs in one of the values of its field.
func (d modelDoc) count(q Phrase) (n int) {
	return d.countWords(q.Field, q.Text, func(word, last string) bool { return word == last })
}

// countPrefix returns how often a phrase occurs whose last word is the beginning of one.
func (d modelDoc) countPrefix(q PhrasePrefix) (n int) {
	return d.countWords(q.Field, q.Text, strings.HasPrefix)
}

// countWords counts the places where the words of a text stand, the last one as ends says.
func (d modelDoc) countWords(field, text string, ends func(word, last string) bool) (n int) {
	values, _ := d[field].([]string)
	if s, ok := d[field].(string); ok {
		values = []string{s}
	}
	phrase := strings.Fields(text)
	last := len(phrase) - 1
	for _, value := range values {
		words := strings.Fields(value)
		for at := range words {
			if last >= 0 && len(words)-at > last && slices.Equal(words[at:at+last], phrase[:last]) && ends(words[at+last], phrase[last]) {
				n++
			}
		}
	}
	return n
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
	ok = found > 0 && found >= modelLeast(q.MinShould, len(words))
	if q.Mode == ModeAnd {
		ok = found == len(words) && found > 0
	}
	if !ok {
		score = 0
	}
	return ok, score
}

// modelLeast returns how many of n clauses must match.
func modelLeast(least, n int) int {
	for p := -100; p <= 100; p++ {
		if least == Percent(p) {
			least = int(float64(n) * float64(p) / 100)
			if p < 0 {
				least += n
			}
			return least
		}
	}
	if least < 0 {
		least += n
	}
	return min(least, n)
}

func (d modelDoc) evalBoolPrefix(q MatchBoolPrefix, st *modelStats, boost float64) (ok bool, score float64) {
	words := strings.Fields(q.Text)
	found := 0
	for i, w := range words {
		switch {
		case i == len(words)-1:
			if hit, s := d.eval(Prefix{q.Field, w, false}, st, boost); hit {
				found++
				score += s
			}
		case d.tf(q.Field, w) > 0:
			found++
			score += st.score(d, q.Field, w, boost)
		}
	}
	if ok = found > 0 && (q.Mode == ModeOr || found == len(words)); !ok {
		score = 0
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
	least := modelLeast(q.MinShould, len(q.Should))
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
	all    model
}

func (m model) stats(sim BM25) *modelStats {
	st := &modelStats{sim, map[string]int{}, map[string]int{}, map[[2]string]int{}, map[string]bool{}, m}
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

// prefixed counts the documents that have a word of a field with a prefix.
func (st *modelStats) prefixed(field, prefix string) (n int) {
	for _, d := range st.all {
		if slices.ContainsFunc(modelTerms(field, d[field]), func(term string) bool { return strings.HasPrefix(term, prefix) }) {
			n++
		}
	}
	return n
}

// score is textbook BM25, except for the average length, which the contract rounds to four digits.
func (st *modelStats) score(d modelDoc, field, term string, boost float64) float64 {
	tf := d.tf(field, term)
	if st == nil || tf == 0 {
		return 0
	}
	return st.weight(field, term, boost) * st.saturation(d, field, tf)
}

// saturation is the part of BM25 that depends on the document.
func (st *modelStats) saturation(d modelDoc, field string, tf int) float64 {
	k := st.sim.K1
	if st.text[field] {
		avg, _ := strconv.ParseFloat(fmt.Sprintf("%.3e", float64(st.tokens[field])/float64(st.docs[field])), 64)
		k *= 1 - st.sim.B + st.sim.B*float64(len(modelTerms(field, d[field])))/avg
	}
	return float64(tf) / (float64(tf) + k)
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
	case Phrase:
		for _, w := range strings.Fields(q.Text) {
			if ranked && st.freq[[2]string{q.Field, w}] == 0 {
				return 0
			}
			sum += st.weight(q.Field, w, boost)
		}
	case PhrasePrefix:
		words := strings.Fields(q.Text)
		if len(words) == 1 {
			return boost
		}
		for i, w := range words {
			n := st.freq[[2]string{q.Field, w}]
			if i == len(words)-1 {
				n = st.prefixed(q.Field, w)
			}
			if ranked && n == 0 {
				return 0
			}
			sum += boost * math.Log(1+(float64(st.docs[q.Field])-float64(n)+0.5)/(float64(n)+0.5))
		}
	case Boost:
		return st.weights(q.Query, boost*q.By, ranked)
	case ConstantScore:
		return boost * q.Score
	case Prefix, Wildcard, Regexp, TermRange, Range, Terms, Exists:
		return boost
	case DisMax:
		for _, c := range q.Queries {
			sum += st.weights(c, boost, ranked)
		}
	case Boosting:
		return st.weights(q.Positive, boost, ranked) // the demoted documents have no other share
	case MatchBoolPrefix:
		words := strings.Fields(q.Text)
		for _, w := range words[:max(0, len(words)-1)] {
			sum += weight(q.Field, w)
		}
		if len(words) > 0 {
			sum += boost
		}
	case Fuzzy:
		for _, w := range st.fuzzyWeights(q, boost) {
			sum += w
		}
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
	if r.IntN(2) == 0 {
		d["sold"] = r.IntN(9)
	}
	if r.IntN(4) == 0 {
		d["mark"] = "new"
	}
	return d
}

// changes makes an update of a document: values, or nil for none.
func (r modelQueries) changes() map[string]any {
	changes := map[string]any{"sold": []any{nil, r.IntN(9), r.IntN(9), r.IntN(1 << 60), float64(r.IntN(9)) / 4}[r.IntN(5)]}
	if r.IntN(3) == 0 {
		changes["mark"] = []any{nil, "new", fmt.Sprint("mark ", r.IntN(30)), "\x00"}[r.IntN(4)]
	}
	return changes
}

// with returns the document after an update.
func (d modelDoc) with(changes map[string]any) modelDoc {
	d = maps.Clone(d)
	if d == nil {
		d = modelDoc{}
	}
	for name, v := range changes {
		if v == nil {
			delete(d, name)
		} else {
			d[name] = v
		}
	}
	return d
}

// changesOf returns the update that makes a document of another, or false if there is none.
func changesOf(from, to modelDoc) (changes map[string]any, ok bool) {
	changes = map[string]any{}
	for _, name := range []string{"sold", "mark"} {
		if from[name] != to[name] {
			changes[name] = to[name]
		}
	}
	return changes, fmt.Sprint(from.with(changes)) == fmt.Sprint(to)
}

// query makes a query of limited depth. AndOr is for the outermost level only.
func (r modelQueries) query(depth int) Query {
	if depth == 0 || r.IntN(3) == 0 {
		return r.leaf()
	}
	switch r.IntN(10) {
	case 8:
		return DisMax{append(r.queries(depth), r.query(depth-1)), float64(r.IntN(3)) / 2}
	case 9:
		return Boosting{r.query(depth - 1), r.query(depth - 1), float64(r.IntN(5)) / 4}
	case 0:
		return Boost{r.query(depth - 1), float64(r.IntN(5)) / 2}
	case 1:
		return ConstantScore{r.query(depth - 1), float64(r.IntN(4))}
	}
	b := Bool{Must: r.queries(depth), Should: r.queries(depth), Filter: r.queries(depth), MustNot: r.queries(depth)}
	if len(b.Must)+len(b.Should)+len(b.Filter)+len(b.MustNot) == 0 {
		b.Must = []Query{r.leaf()}
	}
	if b.MinShould = r.IntN(len(b.Should) + 1); r.IntN(3) == 0 {
		b.MinShould = r.least(len(b.Should))
	}
	return b
}

func (r modelQueries) queries(depth int) []Query {
	var qs []Query
	for range max(0, r.IntN(5)-2) {
		qs = append(qs, r.query(depth-1))
	}
	return qs
}

// least makes a MinShould of n clauses: the number of those that may be missing, or a share.
func (r modelQueries) least(n int) int {
	if r.IntN(2) == 0 {
		return -r.IntN(n + 1)
	}
	return Percent(r.IntN(201) - 100)
}

func (r modelQueries) leaf() Query {
	switch r.IntN(14) {
	case 12:
		return MatchBoolPrefix{Field: "text", Text: strings.TrimSpace(r.words(r.IntN(3)) + " " + r.word()[:1+r.IntN(2)]), Mode: Mode(r.IntN(2))}
	case 13:
		n := 1 + r.IntN(5)
		return Match{Fields: []string{"title", "text"}[r.IntN(2):], Text: r.words(n), MinShould: []int{r.IntN(n + 2), r.least(n)}[r.IntN(2)]}
	case 11:
		return PhrasePrefix{Field: []string{"text", "text", "title"}[r.IntN(3)], Text: strings.TrimSuffix(r.words(r.IntN(3))+" "+r.word()[:1+r.IntN(2)], " ")}
	case 10:
		return Phrase{Field: []string{"text", "text", "title"}[r.IntN(3)], Text: r.words(1 + r.IntN(3))}
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
		return r.pattern()
	case 6:
		return Match{Fields: []string{"title", "text"}, Text: r.words(1 + r.IntN(3)), Mode: Mode(r.IntN(2))}
	}
	return Match{Field: "text", Text: r.words(r.IntN(5)), Mode: Mode(r.IntN(2))}
}

// pattern makes a query for terms by what they look like, or for many values.
func (r modelQueries) pattern() Query {
	field, word := "text", r.word()
	if r.IntN(4) == 0 {
		field, word = modelKeyword, r.tag()
	}
	if r.IntN(4) == 0 {
		word = strings.ToUpper(word)
	}
	raw := r.IntN(4) == 0
	switch r.IntN(8) {
	case 7:
		bounds := []any{nil, r.IntN(9), float64(r.IntN(9)) / 4}
		q := Range{[]string{"num", "rank", "sold"}[r.IntN(3)], bounds[r.IntN(3)], bounds[1+r.IntN(2)], r.IntN(2) == 0, r.IntN(2) == 0, ""}
		if r.IntN(4) == 0 {
			q.From, q.To = q.To, nil
		}
		return q
	case 0:
		return Prefix{field, word[:r.IntN(len(word)+1)], raw}
	case 1:
		return Wildcard{field, []string{"*", word, word[:1] + "*", "*" + word[1:], "?" + word[1:], "*" + word[1:2] + "*", "??"}[r.IntN(7)], raw}
	case 2:
		return Regexp{field, []string{word, word + "?", "[wW]1.*", ".*[2-4]", word[:1] + "(1|2)?[0-9]", ""}[r.IntN(6)], raw}
	case 3:
		from, to := r.word(), r.word()
		if r.IntN(4) == 0 {
			to = ""
		}
		return TermRange{"text", from, to, r.IntN(2) == 0, r.IntN(2) == 0, raw}
	case 4:
		return Terms{"num", []any{r.IntN(9), r.IntN(9), r.IntN(9)}}
	case 5:
		return Exists{[]string{"text", "title", modelKeyword, "num", "flag"}[r.IntN(5)]}
	}
	return Fuzzy{Field: "text", Term: strings.ToLower(word), Edits: r.IntN(4) - 1, Prefix: r.IntN(2)}
}
