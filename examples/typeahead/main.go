// Typeahead searches as you type: each key is answered with completions of the word and with the best
// passages so far.
//
//	go run ./examples/typeahead              # types a text over some first sentences of novels
//	go run ./examples/typeahead -live        # answers your keys
//
//	riffle index --db books passages.jsonl.zst
//	go run ./examples/typeahead -db books -live
//
// What it demonstrates, by file:
//
//	main.go      opening an index for reading, or making a small one
//	box.go       MatchBoolPrefix, Suggest and highlights: the answer to a key
//	keyboard.go  a line that is typed in a terminal
//
// What a key takes over 400,000 passages is the matter of BenchmarkTypeahead, in the root.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
	"golang.org/x/term"
)

//go:embed openings.tsv
var openings string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "typeahead:", err)
		}
		os.Exit(1)
	}
}

// run is main with its surroundings as arguments, so that a test can call it.
func run(ctx context.Context, args []string, stdin *os.File, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("typeahead", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: typeahead [flags] [TEXT]\n\nTypes a text, and answers each key. Flags:\n\n")
		flags.PrintDefaults()
	}
	dir := flags.String("db", "", "`directory` of an index to search (default: some first sentences of novels)")
	field := flags.String("field", "text", "`name` of the field to search")
	live := flags.Bool("live", false, "answer keys that are typed in the terminal, until Ctrl-C")
	if err := flags.Parse(args); err != nil {
		return err
	}
	e, done, err := open(ctx, *dir)
	if err != nil {
		return err
	}
	defer done()
	b, err := newBox(e, *field)
	if err != nil {
		return err
	}
	if *live {
		if !term.IsTerminal(int(stdin.Fd())) {
			return errors.New("-live needs a terminal")
		}
		before, err := term.MakeRaw(int(stdin.Fd()))
		if err != nil {
			return err
		}
		defer term.Restore(int(stdin.Fd()), before)
		return b.keyboard(ctx, stdin, stdout)
	}
	text := strings.Join(flags.Args(), " ")
	if text == "" {
		text = "the world was wat"
	}
	return b.typeText(ctx, stdout, text)
}

// open opens an index, or makes one of the first sentences.
func open(ctx context.Context, dir string) (e *riffle.Engine, done func(), err error) {
	if dir != "" {
		e, err = riffle.Open(dir, &riffle.Options{ReadOnly: true})
		return e, func() { e.Close() }, err
	}
	if dir, err = os.MkdirTemp("", "riffle-typeahead-"); err != nil {
		return nil, nil, err
	}
	done = func() { os.RemoveAll(dir) }
	if e, err = riffle.Open(dir, nil); err == nil {
		done = func() { e.Close(); os.RemoveAll(dir) }
		var b riffle.Batch
		for line := range strings.Lines(openings) {
			id, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
			b.Put(id, map[string]any{"text": text})
		}
		err = e.Apply(ctx, &b)
	}
	if err != nil {
		done()
	}
	return e, done, err
}

// typeText answers each key of a text with a line of completions and the best hit.
func (b *box) typeText(ctx context.Context, w io.Writer, text string) error {
	keys, slowest := 0, time.Duration(0)
	for end := range text + " " {
		if end == 0 {
			continue
		}
		start := time.Now()
		a, err := b.answer(ctx, text[:end], 1)
		if err != nil {
			return err
		}
		keys, slowest = keys+1, max(slowest, time.Since(start))
		fmt.Fprintf(w, "%s_\n    %s\n", text[:end], strings.Join(a.completions, " "))
		for _, hit := range a.hits {
			fmt.Fprintf(w, "    %s: %s\n", hit.id, hit.snippet)
		}
	}
	_, err := fmt.Fprintf(w, "%d keys, the slowest took %.1f ms\n", keys, float64(slowest.Microseconds())/1000)
	return err
}
