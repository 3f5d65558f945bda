package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

const searchLong = `Prints the best documents for a query: rank, score, id and title, then the best
sentences of the text, with what matches in bold on a terminal (unless NO_COLOR is
set). How many documents match, how long it took and what ran it goes to standard
error.

A query is words, or says more. Quote it against the shell:

  white whale            either word, as --mode says, in the fields of --field
  +white -whale          a word that must be there, and one that must not
  title:whale            in a field; title,text:whale in any of two
  "white whale"~2        a phrase, whose words may be moved by two places
  whal* wh?le /whale?s/  the beginning of a word, a pattern, an expression
  whale~1                a word with one letter added, dropped or changed
  year:>=1850 year:[1850 TO 1860}     numbers and dates; tag:[a TO b] words
  (white OR black) AND NOT (whale^2)  groups, and what counts more
  NEAR("white whale" ship, 10)  year:*  tag:="as it is"
  at:"52.52,13.405"~2000 at:[52,13 TO 53,14]  places at most 2 km away, or in a box

A backslash takes the meaning from a character; --words from all of them.
docs/QUERIES.md has the rest.

The words of the query are analysed as those of the field were. Scores are BM25;
k1 and b are choices of the query, so try them freely.

Page by page: --cursor prints the cursor of the next page to standard error, and
--after CURSOR continues there with the same query and any -k. Each page costs as
much as the first, and documents that come or go meanwhile do not shift the others.
Ranks count from the beginning of the page. --from pages by number instead.

--sort -price,name puts the highest price first, and equal prices by name; so do
_id, _score (ascending) and -_score. A field's name may be followed by :first or
:last, where documents without a value come, and by :min, :max or :median, which of
several values counts. at:from=52.52/13.405 puts the nearest place first, by latitude
and longitude or by geohash. The values stand in place of the score.

--facet host counts the most frequent values of a field over all documents that match,
and --aggregate '{"days": {"date_histogram": {"field": "at", "unit": "day"}}}' computes
what docs/COLUMNS.md and docs/PLACES.md say. Their fields need columns, which text has not.

--profile adds how the search ran: why on this processor and by this algorithm, the time of
each phase, and the posting list of each word along the documents, where # was decoded,
: was passed over by bounds there, and . was skipped from further away.

With --json everything is one object: total, total_exact, executor, micros, work
(blocks_decoded, blocks_skipped, docs_scored), hits (rank, score, id, fields,
with --sort the values, and with --explain the derivation of the score), next, the
cursor of the next page if this one is full, aggregations, by name, and profile.`

type searchCommand struct {
	queryFlags
	aggregateFlags
	db                   string
	words                bool
	explain, json, total bool
	profile              bool
	filters              []string
	from                 int
	after                string
	cursor               bool
	sort                 string
	rank                 string
	alpha                float64
}

func newSearch() *cobra.Command {
	var s searchCommand
	c := &cobra.Command{
		Use:     "search --db DIR QUERY",
		Short:   "Print the best documents for a query",
		Long:    searchLong,
		Example: "  riffle search --db books call me ishmael\n  riffle search --db cran --field body --mode and -k 3 --explain \"boundary layer\"\n  riffle search --db books 'title:\"moby dick\" +year:>=1850 -whal*'",
		Args:    cobra.MinimumNArgs(1),
	}
	c.RunE = func(c *cobra.Command, words []string) error { return s.run(c, strings.Join(words, " ")) }
	dbFlag(c, &s.db)
	s.queryFlags.declare(c, riffle.DefaultK)
	c.ValidArgsFunction = s.completeQuery
	f := c.Flags()
	f.BoolVar(&s.words, "words", false, "no character of the query has a meaning: it is words alone")
	f.BoolVar(&s.explain, "explain", false, "derive each score, term by term")
	f.BoolVar(&s.profile, "profile", false, "say how the search ran, and what it did with each posting list")
	f.BoolVar(&s.json, "json", false, "print a JSON object on one line")
	f.BoolVar(&s.total, "total", false, "count all matches exactly, which pruning otherwise avoids")
	f.StringArrayVar(&s.filters, "filter", nil, "only documents whose field has this value: NAME=VALUE, exactly (may be repeated)")
	c.RegisterFlagCompletionFunc("filter", completeFilter)
	f.IntVar(&s.from, "from", 0, "pass over so many hits: the third page of ten begins with --from 20")
	f.StringVar(&s.after, "after", "", "the page behind this cursor, which --cursor or the page before has printed")
	f.StringVar(&s.sort, "sort", "", "order by fields instead of scores: -price,name (- descends), _score, _id")
	f.BoolVar(&s.cursor, "cursor", false, "print the cursor of the next page, for --after")
	s.aggregateFlags.declare(c)
	f.StringVar(&s.rank, "rank", "", "numeric field with the static rank that the index was made with")
	f.Float64Var(&s.alpha, "alpha", 0, "share of the static rank in a score, 0 to 1")
	return c
}

// query returns the query of the flags and the text.
func (s *searchCommand) query(e *riffle.Engine, text string) (riffle.Query, error) {
	q, err := s.parse(e, text)
	if err != nil || len(s.filters) == 0 {
		return q, err
	}
	b := riffle.Bool{Must: []riffle.Query{q}}
	for _, f := range s.filters {
		name, value, ok := strings.Cut(f, "=")
		if !ok || name == "" {
			return nil, usagef("--filter %s: want NAME=VALUE", f)
		}
		b.Filter = append(b.Filter, riffle.Term{Field: name, Value: value})
	}
	return b, nil
}

// parse returns the query of the text. Words alone are one Match.
func (s *searchCommand) parse(e *riffle.Engine, text string) (riffle.Query, error) {
	if s.words || isWords(text) {
		return s.match(text), checkFields(e, s.fieldNames())
	}
	o := &riffle.ParseOptions{Engine: e, Mode: s.mode.value, Boosts: map[string]float64{}}
	for _, field := range strings.Split(s.field, ",") {
		name, boost := cutBoost(field)
		o.Fields = append(o.Fields, name)
		if boost != 1 {
			o.Boosts[name] = boost
		}
	}
	if o.Mode == riffle.ModeAndOr {
		return nil, usagef("--mode and+or goes with words alone, and %s is more", strconv.Quote(text))
	}
	q, err := riffle.ParseQuery(text, o)
	var pe *riffle.ParseError
	if errors.As(err, &pe) {
		err = usageError{err}
	}
	return q, err
}

// isWords reports whether a text is nothing but words to ParseQuery.
func isWords(text string) bool {
	if strings.ContainsAny(text, "\":~^*?\\") {
		return false
	}
	for _, w := range strings.Fields(text) {
		if strings.IndexByte("+-=<>()[]{}/", w[0]) >= 0 || w == "AND" || w == "OR" || w == "NOT" || strings.HasPrefix(w, "NEAR(") {
			return false
		}
	}
	return true
}

func (s *searchCommand) run(c *cobra.Command, text string) (err error) {
	o, err := s.options(c)
	if err != nil {
		return err
	}
	o.ExactTotal, o.Load, o.From = s.total, []string{"*"}, s.from
	if o.After, err = riffle.ParseCursor(s.after); err != nil {
		return usagef("--after: %w", err)
	}
	if o.Sort, err = riffle.ParseSort(s.sort); err != nil {
		return usagef("--sort: %w", err)
	}
	if o.Aggregations, err = s.aggregations(); err != nil {
		return err
	}
	if s.profile {
		o.Profile = &riffle.ProfileOptions{}
	}
	if !s.json {
		o.Highlight = &riffle.HighlightOptions{Size: snippetSize, Lead: true}
	}
	if s.alpha != 0 && s.rank == "" {
		return usagef("--alpha goes with --rank, the field that has the static rank")
	}
	opts := s.engineOptions()
	opts.Rank = riffle.Rank{Field: s.rank, Alpha: s.alpha}
	if err := opts.Validate(); err != nil {
		return usageError{err}
	}
	e, err := openWith(s.db, opts)
	if err != nil {
		return err
	}
	defer closing(e, &err)
	q, err := s.query(e, text)
	if err != nil {
		return err
	}
	res, err := e.Search(c.Context(), q, o)
	if err != nil {
		return err
	}
	why, err := s.explanations(c.Context(), e, q, res, o)
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(c.OutOrStdout(), res, s.from, s.next(res), why)
	}
	var filtered []string
	for _, f := range s.filters {
		name, _, _ := strings.Cut(f, "=")
		filtered = append(filtered, name)
	}
	sn := newSnippets(e.Schema(), s.fieldNames(), filtered, markup(colored(c.OutOrStdout())))
	return s.print(c, sn, res, o.Sort, why)
}

// explanations derives the scores of all hits; nil unless requested.
func (s *searchCommand) explanations(ctx context.Context, e *riffle.Engine, q riffle.Query, res *riffle.Result, o *riffle.SearchOptions) ([]*riffle.Explanation, error) {
	if !s.explain {
		return nil, nil
	}
	why := make([]*riffle.Explanation, len(res.Hits))
	for i, h := range res.Hits {
		var err error
		if why[i], err = e.Explain(ctx, q, h.ID, o); err != nil {
			return nil, err
		}
	}
	return why, nil
}

func (s *searchCommand) print(c *cobra.Command, sn *snippets, res *riffle.Result, keys []riffle.SortKey, why []*riffle.Explanation) error {
	var b strings.Builder
	for i, h := range res.Hits {
		fmt.Fprintf(&b, "%3d  %s  %s", s.from+i+1, order(h, keys), oneLine(h.ID, riffle.MaxIDBytes))
		if titles := texts(h.Fields["title"]); len(titles) > 0 && titles[0] != "" {
			fmt.Fprintf(&b, "  %s", oneLine(strings.Join(titles, " / "), 100))
		}
		b.WriteByte('\n')
		if text := sn.best(h.Fragments); text != "" {
			fmt.Fprintf(&b, "     %s\n", text)
		}
		if why != nil {
			b.WriteString(indent(why[i].String()))
		}
	}
	printAggregations(&b, res.Aggregations, "")
	printProfile(&b, res.Profile)
	if _, err := io.WriteString(c.OutOrStdout(), b.String()); err != nil {
		return err
	}
	atLeast := "at least "
	if res.TotalExact {
		atLeast = ""
	}
	fmt.Fprintf(c.ErrOrStderr(), "%d of %s%d documents, %v on %s\n", len(res.Hits), atLeast, res.Total, res.Duration, res.Executor)
	if s.cursor || s.after != "" {
		if next := s.next(res); next != "" {
			fmt.Fprintf(c.ErrOrStderr(), "next page: --after %s\n", next)
		} else {
			fmt.Fprintln(c.ErrOrStderr(), "this is the last page")
		}
	}
	return nil
}

// order prints what a hit was ordered by: its score, or its values for the sort keys.
func order(h riffle.Hit, keys []riffle.SortKey) string {
	if h.Sort == nil {
		return fmt.Sprintf("%9.4f", h.Score)
	}
	values := make([]string, len(h.Sort))
	for i, v := range h.Sort {
		switch v := v.(type) {
		case nil:
			values[i] = "-"
		case time.Time:
			values[i] = v.Format(time.RFC3339Nano)
		case string:
			values[i] = oneLine(v, 40)
		case float64:
			if values[i] = fmt.Sprint(v); keys[i].From != nil {
				values[i] = fmt.Sprintf("%.0f m", v) // a distance
			}
		default:
			values[i] = fmt.Sprint(v)
		}
	}
	return fmt.Sprintf("%9s", strings.Join(values, " "))
}

// next returns the cursor after a full page.
func (s *searchCommand) next(res *riffle.Result) string {
	if n := len(res.Hits); n == s.k {
		return res.Hits[n-1].Cursor.String()
	}
	return ""
}

func indent(text string) string {
	return "     " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n     ") + "\n"
}

// searchJSON is the shape of --json.
type searchJSON struct {
	Total      int       `json:"total"`
	TotalExact bool      `json:"total_exact"`
	Executor   string    `json:"executor"`
	Micros     float64   `json:"micros"`
	Work       workJSON  `json:"work"`
	Hits       []hitJSON `json:"hits"`
	Next       string    `json:"next,omitempty"` // cursor

	Aggregations map[string]riffle.AggregationResult `json:"aggregations,omitempty"`
	Profile      *riffle.Profile                     `json:"profile,omitempty"`
}

type workJSON struct {
	BlocksDecoded int64 `json:"blocks_decoded"`
	BlocksSkipped int64 `json:"blocks_skipped"`
	DocsScored    int64 `json:"docs_scored"`
}

type hitJSON struct {
	Rank    int            `json:"rank"`
	Score   float64        `json:"score"`
	ID      string         `json:"id"`
	Sort    []any          `json:"sort,omitempty"`
	Fields  map[string]any `json:"fields,omitempty"`
	Explain *explainJSON   `json:"explanation,omitempty"`
}

type explainJSON struct {
	Score float64        `json:"score"`
	Text  string         `json:"text"`
	Parts []*explainJSON `json:"parts,omitempty"`
}

func newExplainJSON(x *riffle.Explanation) *explainJSON {
	out := &explainJSON{Score: x.Score, Text: x.Text}
	for _, p := range x.Parts {
		out.Parts = append(out.Parts, newExplainJSON(p))
	}
	return out
}

func printJSON(w io.Writer, res *riffle.Result, from int, next string, why []*riffle.Explanation) error {
	out := searchJSON{
		Total: res.Total, TotalExact: res.TotalExact, Executor: res.Executor, Micros: float64(res.Duration.Nanoseconds()) / 1000,
		Work: workJSON{res.Work.BlocksDecoded, res.Work.BlocksSkipped, res.Work.DocsScored},
		Hits: []hitJSON{}, Next: next, Aggregations: res.Aggregations, Profile: res.Profile,
	}
	for i, h := range res.Hits {
		hit := hitJSON{Rank: from + i + 1, Score: h.Score, ID: h.ID, Sort: h.Sort, Fields: h.Fields}
		if why != nil {
			hit.Explain = newExplainJSON(why[i])
		}
		out.Hits = append(out.Hits, hit)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}
