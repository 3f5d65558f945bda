package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/jsonl"
)

const updateLong = `Changes some fields of documents, the others stay, and prints how many documents
there were.

A line of a FILE is an object with the id of a document and the new values of
fields. Files may be compressed (zstd, gzip); - is standard input:

  {"id": "lamp", "sold": 41, "offer": null}

null takes the values of a field away. An object replaces all fields below its name.
An id without a document is reported, the others are updated, and the exit code is 1.
Each thousand lines take effect as a whole, durably (where documents are put again,
lines of one id do so one after the other). A bad line ends the run; those before its
batch have taken effect. Values are set, not added, so a run that was
interrupted can simply be started again.

With --query, the documents that match get the fields of --set, a thousand in each
step; the text is as for search. If it is broken off, what has been changed stays,
and --resume with the printed token finishes it: documents that are put meanwhile
stay as they are.

Fields of a file that have their values in a column alone (no_index, and a column,
in the schema) are updated in place: a hundred thousand lines a second. For other
fields, and with --query, documents are put again from their stored fields, so all
fields must be stored.`

// An updateCommand is riffle update.
type updateCommand struct {
	db, set string
	batch   int
	by      byQueryFlags
}

func newUpdate() *cobra.Command {
	var u updateCommand
	c := &cobra.Command{
		Use:   "update --db DIR {FILE... | --query TEXT --set JSON}",
		Short: "Change fields of documents",
		Long:  updateLong,
		Example: `  riffle update --db shop prices.jsonl
  riffle update --db shop --query 'brand:Acme' --set '{"brand": "Apex", "offer": null}'
  riffle update --db shop --query 'brand:Acme' --set '{"brand": "Apex"}' --dry-run`,
	}
	f := c.Flags()
	f.StringVar(&u.set, "set", "", "with --query: the fields to set, as a JSON object")
	f.IntVar(&u.batch, "batch", 1000, "most lines of a file that take effect as one")
	u.by.declare(c, "update", "files")
	c.RunE = func(c *cobra.Command, files []string) error {
		byQuery := c.Flags().Changed("query")
		switch {
		case byQuery && len(files) > 0:
			return usagef("either files or --query")
		case byQuery && u.set == "":
			return usagef("--query goes with --set: which fields?")
		case byQuery:
			return u.byQuery(c)
		case len(files) == 0:
			return usagef("no files, and no --query")
		}
		for _, name := range []string{"set", "rate", "resume", "dry-run"} {
			if c.Flags().Changed(name) {
				return usagef("--%s goes with --query", name)
			}
		}
		if u.batch < 1 || u.batch > riffle.MaxK {
			return usagef("--batch must lie in 1 to %d, not %d", riffle.MaxK, u.batch)
		}
		return u.files(c, files)
	}
	dbFlag(c, &u.db)
	return c
}

// byQuery sets the same fields in all documents that match.
func (u *updateCommand) byQuery(c *cobra.Command) error {
	fields, err := parseFields([]byte(u.set))
	if err != nil {
		return usagef("--set: %v", err)
	}
	if len(fields) == 0 {
		return usagef("--set: no field")
	}
	return u.by.run(c, u.db, "updated", func(ctx context.Context, e *riffle.Engine, q riffle.Query, o *riffle.ByQueryOptions) (*riffle.ByQueryProgress, error) {
		return e.UpdateByQuery(ctx, q, func(riffle.Document) (map[string]any, error) { return fields, nil }, o)
	})
}

// parseFields reads a JSON object, whose numbers stay as they are written.
func parseFields(text []byte) (fields map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&fields)
	var other *json.UnmarshalTypeError
	switch {
	case errors.As(err, &other), err == nil && fields == nil:
		return nil, errors.New(`want an object, such as {"sold": 41}`)
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, errors.New("the object has no end")
	case err != nil:
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more after the object")
	}
	return fields, nil
}

// A patch is a line of a file.
type patch struct {
	file   string
	line   int
	id     string
	fields map[string]any
}

// parsePatch reads a line.
func parsePatch(file string, number int, line []byte) (p patch, err error) {
	p = patch{file: file, line: number}
	if p.fields, err = parseFields(line); err != nil {
		return p, p.at(err)
	}
	switch id := p.fields["id"].(type) {
	case string:
		p.id = id
	case json.Number:
		p.id = id.String()
	case nil:
		return p, p.at(errors.New("no id"))
	default:
		return p, p.at(errors.New("an id is a string or a number"))
	}
	delete(p.fields, "id")
	if len(p.fields) == 0 {
		return p, p.at(errors.New("nothing but an id"))
	}
	return p, nil
}

// at adds to an error where it occurred.
func (p *patch) at(err error) error {
	return fmt.Errorf("%s:%d: %s", p.file, p.line, strings.TrimPrefix(err.Error(), "riffle: "))
}

// files updates documents from the lines of files.
func (u *updateCommand) files(c *cobra.Command, files []string) (err error) {
	total, err := inputBytes(files)
	if err != nil {
		return err
	}
	e, err := openToChange(u.db, nil)
	if err != nil {
		return err
	}
	defer closing(e, &err)
	w := &patcher{e: e, errw: c.ErrOrStderr(), progress: newProgress(u.by.progress.value, c.ErrOrStderr(), total)}
	err = w.readAll(c.Context(), c.InOrStdin(), files, u.batch)
	w.progress.finish()
	if err == nil || w.updated > 0 {
		_, perr := fmt.Fprintf(c.OutOrStdout(), "updated %d\n", w.updated)
		err = errors.Join(err, perr)
	}
	if err == nil && w.missing > 0 {
		err = fmt.Errorf("lines without a document: %d", w.missing)
	}
	return err
}

// A patcher applies patches.
type patcher struct {
	e                *riffle.Engine
	errw             io.Writer
	progress         *progress
	puts             bool // a field is not in a column alone
	updated, missing int
	bytes, before    int64 // of lines; of the files before the current one
}

func (w *patcher) readAll(ctx context.Context, in io.Reader, files []string, batch int) error {
	var patches []patch
	flush := func(read int64) error {
		err := w.apply(ctx, patches)
		patches = patches[:0]
		w.progress.update(w.updated, w.bytes, read)
		return err
	}
	for _, file := range files {
		r := jsonl.NewReader(file, in)
		if file != "-" {
			var err error
			if r, err = jsonl.Open(file); err != nil {
				return err
			}
		}
		err := w.read(r, file, func(p patch) error {
			if patches = append(patches, p); len(patches) < batch {
				return nil
			}
			return flush(w.before + r.RawBytes())
		})
		w.before += r.RawBytes()
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return flush(w.before)
}

// read calls use with each line of a file.
func (w *patcher) read(r *jsonl.Reader, file string, use func(patch) error) error {
	for {
		line, err := r.Line()
		if err == io.EOF {
			return nil
		}
		var fault *jsonl.LineError
		if errors.As(err, &fault) {
			fault.File, fault.Line = file, r.LineNumber()
		}
		if err != nil {
			return err
		}
		w.bytes += int64(len(line))
		p, err := parsePatch(file, r.LineNumber(), line)
		if err == nil {
			err = use(p)
		}
		if err != nil {
			return err
		}
	}
}

// apply applies patches: in place if the engine can, else by putting the documents again.
func (w *patcher) apply(ctx context.Context, all []patch) error {
	patches, err := w.existing(ctx, all)
	if err != nil || len(patches) == 0 {
		return err
	}
	if !w.puts {
		var b riffle.Batch
		for i := range patches {
			b.Update(patches[i].id, patches[i].fields)
		}
		err := w.e.Apply(ctx, &b)
		var refused *riffle.DocumentError
		if !errors.As(err, &refused) {
			if err == nil {
				w.updated += len(patches)
			}
			return err
		}
		w.puts = true // if it is another fault, putting the document reports it
	}
	for len(patches) > 0 { // up to an id that comes again
		n, byID := 0, map[string]*patch{}
		for ; n < len(patches) && byID[patches[n].id] == nil; n++ {
			byID[patches[n].id] = &patches[n]
		}
		if err := w.put(ctx, byID); err != nil {
			return err
		}
		patches = patches[n:]
	}
	return nil
}

// put puts documents again, each with the fields of its patch.
func (w *patcher) put(ctx context.Context, patches map[string]*patch) error {
	var ids []string
	for id := range patches {
		ids = append(ids, id)
	}
	done, err := w.e.UpdateByQuery(ctx, riffle.IDs{Values: ids}, func(d riffle.Document) (map[string]any, error) {
		return patches[d.ID].fields, nil
	}, &riffle.ByQueryOptions{BatchDocs: len(ids)})
	w.updated += done.Changed
	var refused *riffle.DocumentError
	if errors.As(err, &refused) && patches[refused.ID] != nil {
		return patches[refused.ID].at(refused)
	}
	return err
}

// existing returns the patches of documents that exist, and reports the others.
func (w *patcher) existing(ctx context.Context, patches []patch) ([]patch, error) {
	ids := make([]string, len(patches))
	for i := range patches {
		ids[i] = patches[i].id
	}
	if len(ids) == 0 {
		return nil, nil
	}
	res, err := w.e.Search(ctx, riffle.Bool{Filter: []riffle.Query{riffle.IDs{Values: ids}}}, &riffle.SearchOptions{K: len(ids)})
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(res.Hits))
	for i := range res.Hits {
		known[res.Hits[i].ID] = true
	}
	var found []patch
	for i := range patches {
		if p := &patches[i]; known[p.id] {
			found = append(found, *p)
			continue
		}
		w.missing++
		w.progress.interrupt()
		fmt.Fprintf(w.errw, "riffle update: %v\n", patches[i].at(noDocument(patches[i].id)))
	}
	return found, nil
}
