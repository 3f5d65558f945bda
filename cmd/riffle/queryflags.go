package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

// queryFlags are the flags of every command that searches.
type queryFlags struct {
	field string
	k     int
	mode  choice[riffle.Mode]
	algo  choice[riffle.Algorithm]
	exec  choice[riffle.Processor]
	k1, b float64
}

func (q *queryFlags) declare(c *cobra.Command, k int) {
	f := c.Flags()
	f.StringVar(&q.field, "field", "text", "field to search, or several: title^3,text finds words in any of them, with boosts")
	c.RegisterFlagCompletionFunc("field", completeFields)
	f.IntVarP(&q.k, "k", "k", k, "most hits of a query, 1 to 10000")
	q.mode = choice[riffle.Mode]{text: "or", value: riffle.ModeOr, parse: riffle.ParseMode,
		names: []string{"or", "and", "and+or"}}
	q.mode.declare(c, "mode", "words a document must have: one (or), all (and), all and where too few have all, one (and+or)")
	q.algo = choice[riffle.Algorithm]{text: "auto", value: riffle.AlgorithmAuto, parse: riffle.ParseAlgorithm,
		names: []string{"auto", "exhaustive", "wand", "bmw", "maxscore", "bmm"}}
	q.algo.declare(c, "algo", "algorithm; all give the same answer, at different cost")
	q.exec = choice[riffle.Processor]{text: "auto", value: riffle.ProcessorAuto, parse: riffle.ParseProcessor,
		names: []string{"auto", "cpu", "gpu"}}
	q.exec.declare(c, "exec", "processor; gpu fails where there is none")
	sim := riffle.BM25{}.OrDefault()
	f.Float64Var(&q.k1, "k1", sim.K1, "BM25 k1, how much repetition counts; belongs to the query, not to the index")
	f.Float64Var(&q.b, "b", sim.B, "BM25 b, how much length counts; belongs to the query, not to the index")
}

// options returns the options that the flags set; k1 and b override only if they are given.
func (q *queryFlags) options(c *cobra.Command) (*riffle.SearchOptions, error) {
	if q.k < 1 || q.k > riffle.MaxK {
		return nil, usagef("-k must lie in 1 to %d, not %d", riffle.MaxK, q.k)
	}
	o := &riffle.SearchOptions{K: q.k, Processor: q.exec.value, Exec: &riffle.Exec{Algorithm: q.algo.value}}
	if c.Flags().Changed("k1") || c.Flags().Changed("b") {
		sim := riffle.BM25{}.OrDefault()
		sim.K1, sim.B = q.k1, q.b
		if err := sim.Validate(); err != nil {
			return nil, usageError{err}
		}
		if q.k1 == 0 {
			sim.K1 = riffle.BM25Zero
		}
		if q.b == 0 {
			sim.B = riffle.BM25Zero
		}
		o.Similarity = &sim
	}
	return o, nil
}

// engineOptions returns the options for opening the index. A command with few queries uses a GPU
// only if told to.
func (q *queryFlags) engineOptions() *riffle.Options {
	if q.exec.value != riffle.ProcessorGPU {
		return &riffle.Options{}
	}
	return &riffle.Options{GPU: &riffle.GPUOptions{Required: true}}
}

func (q *queryFlags) match(text string) riffle.Query {
	m := riffle.Match{Text: text, Mode: q.mode.value}
	for _, field := range strings.Split(q.field, ",") {
		name, boost := cutBoost(field)
		m.Fields = append(m.Fields, name)
		if boost != 1 {
			if m.Boosts == nil {
				m.Boosts = map[string]float64{}
			}
			m.Boosts[name] = boost
		}
	}
	if len(m.Fields) == 1 {
		m.Field, m.Fields = m.Fields[0], nil
	}
	return m
}

// cutBoost splits title^3. If the part after the last ^ is no number, it belongs to the name.
func cutBoost(field string) (name string, boost float64) {
	if i := strings.LastIndexByte(field, '^'); i > 0 {
		if boost, err := strconv.ParseFloat(field[i+1:], 64); err == nil {
			return field[:i], boost
		}
	}
	return field, 1
}

// fieldNames returns the fields that --field names.
func (q *queryFlags) fieldNames() []string {
	names := strings.Split(q.field, ",")
	for i := range names {
		names[i], _ = cutBoost(names[i])
	}
	return names
}

// A choice is the value of a flag with a fixed set of names.
type choice[T any] struct {
	text  string
	value T
	parse func(string) (T, error)
	names []string
	kind  string // for help texts; the names when empty
}

func (v *choice[T]) declare(c *cobra.Command, name, usage string) {
	c.Flags().Var(v, name, usage)
	c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(v.names, cobra.ShellCompDirectiveNoFileComp))
}

// String returns the chosen name.
func (v *choice[T]) String() string { return v.text }

// Set chooses a name.
func (v *choice[T]) Set(s string) (err error) {
	v.text = s
	v.value, err = v.parse(s)
	return err
}

// Type returns what help texts show for the value.
func (v *choice[T]) Type() string {
	if v.kind != "" {
		return v.kind
	}
	return strings.Join(v.names, "|")
}
