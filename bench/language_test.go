package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	upstream "github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/riffle-search/riffle"
	_ "github.com/riffle-search/riffle/analysis/bleve"
)

// queryStrings are those of TestQuerySyntaxParserValid and TestQuerySyntaxParserInvalid of bleve, and some more.
var queryStrings = []string{
	"", " ", "test", "127.0.0.1", `"test phrase 1"`, "field:test", "field:t-est", "field:t+est", "field:t>est", "field:t<est", "field:t=est",
	"+field1:test1", "-field2:test2", `field3:"test phrase 2"`, `+field4:"test phrase 1"`, `-field5:"test phrase 2"`,
	"+field6:test3 -field7:test4 field8:test5", "test^3", "test^3 other^6", "33", "field:33", "cat-dog", "watex~", "watex~2", "watex~ 2",
	"field:watex~", "field:watex~2", "field:555c3bb06f7a127cda000005", "field:>5", "field:>=5", "field:<5", "field:<=5", "field:-5", "field:>-5",
	"field:>=-5", "field:<-5", "field:<=-5", `field:>"2006-01-02T15:04:05Z"`, `field:>="2006-01-02T15:04:05Z"`, `field:<"2006-01-02T15:04:05Z"`,
	`field:<="2006-01-02"`, `field:>"2006-01-02 15:04:05"`, `field:>"2006-01-02 15:04:05 -0700"`, `field:>"2006-01-02T15:04:05"`,
	"/mar.*ty/", "name:/mar.*ty/", "mart*", "name:mart*", `name\:marty`, `name:marty\:couchbase`, `marty\ couchbase`, `\+marty`, `\-marty`,
	`"what does \"quote\" mean"`, `can\ i\ escap\e`, "   what", "term^", `3.0\:`, `3.0\a`, `"fie ld":test`, `"fie ld":"test"`, "age:65^10",
	"^", "^5", "field:-text", "field:>text", "field:>=text", "field:<text", "field:<=text", "field:~text", "field:^text", `\`, `a\`, `"a\`,
	"word ~", "word ^2", "f : x", "+ x", "f:> = 5", "/", "//", "///", `\/re\/`, `a\*b`, "a**", "*", "?", "f:*", `"":x`, "AND a OR NOT b", "(a b)",
	"[a TO b]", "a,b:c", "a~0", "a~3", "a~-1", "a~1.9", "a^-1", "a^1e40", "a^inf", "a^nan", "٣", "f:٣", "1.2.3", "5.", ".5", "5:x", "a\tb", "a\nb c",
	`a~2\`, `a^2\ `, `f:>"x"`, "f:=5", "a^2^3", "a~2^3", "a~2 ^3", `"a"~2`, `"a"*`, "++a", "--a", "a:b:c", `{"all":{}}`, "=", "f:", "a é*", "ＡＢ~1",
}

// TestBleveQueryStrings compares how riffle and bleve read the same strings, without the additions:
// given ones, and many made of pieces at random.
func TestBleveQueryStrings(t *testing.T) {
	texts := slices.Clone(queryStrings)
	rng := rand.New(rand.NewPCG(15, 4))
	pieces := strings.Split("a b field wor 5 3.0 . + - = & | > < ! ( ) { } [ ] ^ \" ~ * ? : \\ / AND TO , é ٣ 2006-01-02", " ")
	pieces = append(pieces, " ", " ", " ", "\t", "\\ ", "f:", "f:>", "~1", "^2", `"a b"`, ":")
	for range 60_000 {
		var b strings.Builder
		for range 1 + rng.IntN(9) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		texts = append(texts, b.String())
	}
	read := 0
	for _, text := range texts {
		want, theirErr := bleveForm(text)
		q, err := riffle.ParseQuery(text, &riffle.ParseOptions{Fields: []string{"default"}, Without: riffle.SyntaxAdditions, Raw: true})
		if (err != nil) != (theirErr != nil) {
			t.Fatalf("%q: riffle %v %v, bleve %v %v", text, q, err, want, theirErr)
		}
		if err != nil {
			continue
		}
		read++
		got, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if form, err := json.Marshal(want); err != nil || string(got) != string(form) {
			t.Fatalf("%q:\nriffle %s\n bleve %s %v", text, got, form, err)
		}
	}
	if read < 6_000 {
		t.Errorf("only %d strings are read", read)
	}
	t.Logf("%d of %d strings are read", read, len(texts))
}

// bleveForm returns what bleve reads, as a query of riffle. Where bleve would only fail in the search,
// it is an error, too.
func bleveForm(text string) (riffle.Query, error) {
	q, err := query.NewQueryStringQuery(text).Parse()
	if err != nil {
		return nil, err
	}
	b, ok := q.(*query.BooleanQuery)
	if !ok {
		return riffle.IDs{}, nil
	}
	var out riffle.Bool
	add := func(to *[]riffle.Query, from []query.Query) {
		for _, sub := range from {
			c, e := bleveLeaf(sub)
			if *to = append(*to, c); e != nil && err == nil {
				err = e
			}
		}
	}
	if b.Must != nil {
		add(&out.Must, b.Must.(*query.ConjunctionQuery).Conjuncts)
	}
	if b.Should != nil {
		add(&out.Should, b.Should.(*query.DisjunctionQuery).Disjuncts)
	}
	if b.MustNot != nil {
		add(&out.MustNot, b.MustNot.(*query.DisjunctionQuery).Disjuncts)
	}
	if err != nil {
		return nil, err
	}
	if len(out.Should) == 1 && len(out.Must)+len(out.MustNot) == 0 {
		return out.Should[0], nil
	}
	return out, nil
}

func bleveLeaf(q query.Query) (out riffle.Query, err error) {
	field := func(name string) string {
		if name == "" {
			return "default"
		}
		return name
	}
	limit := func(x *float64) any {
		if x == nil {
			return nil
		}
		return *x
	}
	moment := func(x query.BleveQueryTime) any {
		if x.IsZero() {
			return nil
		}
		return x.Time
	}
	is := func(b *bool) bool { return b != nil && *b }
	switch q := q.(type) {
	case *query.MatchQuery:
		if out = (riffle.Match{Field: field(q.FieldVal), Text: q.Match}); q.Fuzziness != 0 {
			out = riffle.Fuzzy{Field: field(q.FieldVal), Term: q.Match, Edits: q.Fuzziness}
			if q.Fuzziness < 0 || q.Fuzziness > 2 {
				return nil, fmt.Errorf("fuzziness %d", q.Fuzziness)
			}
		}
	case *query.MatchPhraseQuery:
		out = riffle.Phrase{Field: field(q.FieldVal), Text: q.MatchPhrase}
	case *query.RegexpQuery:
		out = riffle.Regexp{Field: field(q.FieldVal), Expr: q.Regexp, Raw: true}
	case *query.WildcardQuery:
		literal, isPrefix := strings.CutSuffix(q.Wildcard, "*")
		if isPrefix && literal != "" && !strings.ContainsAny(literal, "*?") {
			out = riffle.Prefix{Field: field(q.FieldVal), Prefix: literal, Raw: true}
		} else {
			out = riffle.Wildcard{Field: field(q.FieldVal), Pattern: strings.ReplaceAll(q.Wildcard, `\`, `\\`), Raw: true}
		}
	case *query.DisjunctionQuery: // a number, as a word and as a number
		if out, err = bleveLeaf(q.Disjuncts[0]); err != nil {
			return nil, err
		}
	case *query.NumericRangeQuery:
		out = riffle.Range{Field: field(q.FieldVal), From: limit(q.Min), To: limit(q.Max), ExcludeFrom: q.Min != nil && !is(q.InclusiveMin), IncludeTo: is(q.InclusiveMax)}
	case *query.DateRangeQuery:
		out = riffle.Range{Field: field(q.FieldVal), From: moment(q.Start), To: moment(q.End), ExcludeFrom: !q.Start.IsZero() && !is(q.InclusiveStart), IncludeTo: is(q.InclusiveEnd)}
	default:
		panic(fmt.Sprintf("%T", q))
	}
	if b, ok := q.(interface{ Boost() float64 }); ok {
		if boost := b.Boost(); boost != 1 || boosted(q) {
			out = riffle.Boost{Query: out, By: boost}
		}
	}
	return out, out.Validate()
}

// boosted reports whether a boost is set.
func boosted(q query.Query) bool {
	data, err := json.Marshal(q)
	return err == nil && strings.Contains(string(data), `"boost":1,`) || err == nil && strings.HasSuffix(string(data), `"boost":1}`)
}

// TestBleveQueryStringAnswers compares the documents that riffle and bleve find by the same strings.
func TestBleveQueryStringAnswers(t *testing.T) {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(15, 5))
	m := upstream.NewIndexMapping()
	m.DefaultField = "text"
	theirs, err := upstream.NewMemOnly(m)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	ours, err := riffle.Open(t.TempDir(), &riffle.Options{Durability: riffle.SyncNone, Schema: &riffle.Schema{
		Analyzer: "bleve/standard", Fields: map[string]riffle.Field{"year": {Type: riffle.FieldNumber}, "seen": {Type: riffle.FieldDate}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	words := strings.Fields("white whale Whales the of ship ships sea-dog captain 33 1850 O'Brien shp whle")
	some := func(n int) string {
		var list []string
		for range n {
			list = append(list, words[rng.IntN(len(words))])
		}
		return strings.Join(list, " ")
	}
	var batch riffle.Batch
	for i := range 200 {
		doc := map[string]any{"text": some(1 + rng.IntN(4)), "title": some(rng.IntN(3)), "year": float64(1845 + rng.IntN(10)),
			"seen": time.Date(2006, 1, 1+rng.IntN(9), 0, 0, 0, 0, time.UTC)}
		batch.Put(fmt.Sprint(i), doc)
		if err := theirs.Index(fmt.Sprint(i), doc); err != nil {
			t.Fatal(err)
		}
	}
	if err := ours.Apply(ctx, &batch); err != nil {
		t.Fatal(err)
	}
	bases := func() string {
		w := words[rng.IntN(len(words))]
		kind := rng.IntN(10)
		if (kind == 1 || kind == 2 || kind == 3) && (w == "the" || w == "of") {
			w = "ship" // bleve drops a pattern that no term matches, such as that of a stop word
		}
		switch kind {
		case 0:
			return fmt.Sprintf("%q", some(1+rng.IntN(3)))
		case 1:
			return strings.ToLower(w)[:1+rng.IntN(2)] + "*"
		case 2:
			return "*" + strings.ToLower(w)[1:2] + "*?"
		case 3:
			return "/" + strings.ToLower(w)[:1] + ".*e?/"
		case 4:
			return fmt.Sprintf("%s~%d", w, rng.IntN(3))
		case 5:
			return fmt.Sprintf("year:%s%d", []string{"", ">", ">=", "<", "<="}[rng.IntN(5)], 1844+rng.IntN(12))
		case 6:
			return fmt.Sprintf(`seen:%s"2006-01-%02d"`, []string{">", ">=", "<", "<="}[rng.IntN(4)], 1+rng.IntN(10))
		case 7:
			return "title:" + w
		}
		return w
	}
	found := 0
	for range 3000 {
		var parts []string
		for range 1 + rng.IntN(4) {
			parts = append(parts, []string{"", "", "", "+", "-"}[rng.IntN(5)]+bases()+[]string{"", "", "", " ^2"}[rng.IntN(4)])
		}
		text := strings.Join(parts, " ")
		q, err := riffle.ParseQuery(text, &riffle.ParseOptions{Engine: ours, Fields: []string{"text"}, Without: riffle.SyntaxAdditions, Raw: true})
		if _, theirErr := query.NewQueryStringQuery(text).Parse(); (err != nil) != (theirErr != nil) {
			t.Fatalf("%s: %v, bleve %v", text, err, theirErr)
		} else if err != nil {
			continue
		}
		res, err := ours.Search(ctx, q, &riffle.SearchOptions{K: 1000})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		req := upstream.NewSearchRequestOptions(upstream.NewQueryStringQuery(text), 1000, 0, false)
		theirRes, err := theirs.Search(req)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got, want []string
		for _, h := range res.Hits {
			got = append(got, h.ID)
		}
		for _, h := range theirRes.Hits {
			want = append(want, h.ID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s, which is %v: %d documents, bleve %d", text, q, len(got), len(want))
		}
		found += len(got)
	}
	if found < 1000 {
		t.Errorf("only %d documents found", found)
	}
}
