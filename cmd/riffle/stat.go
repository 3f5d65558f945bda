package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

const statLong = `Prints what is in an index: documents, segments, fields, bytes. Counts of fields
include deleted documents that no merge has dropped yet; distinct terms are added
up over segments.`

func newStat() *cobra.Command {
	var db string
	var asJSON, parts bool
	c := &cobra.Command{
		Use:   "stat --db DIR",
		Short: "Print what is in an index",
		Long:  statLong,
		Args:  cobra.NoArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return stat(c, db, asJSON, parts) }
	dbFlag(c, &db)
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON object on one line")
	c.Flags().BoolVar(&parts, "parts", false, "read the whole index and print how its bytes divide")
	return c
}

func stat(c *cobra.Command, db string, asJSON, parts bool) (err error) {
	e, err := openToRead(db)
	if err != nil {
		return err
	}
	defer closing(e, &err)
	st, err := e.Stats()
	if err != nil {
		return err
	}
	in := newInventory(st, e.Schema())
	if in.Position, err = e.Position(); err != nil {
		return err
	}
	if parts {
		sizes, err := e.Sizes(c.Context())
		if err != nil {
			return err
		}
		in.Parts = &sizes
	}
	if asJSON {
		return json.NewEncoder(c.OutOrStdout()).Encode(in)
	}
	if err := in.print(c.OutOrStdout()); err != nil || !parts {
		return err
	}
	return printParts(c.OutOrStdout(), in.Parts)
}

// printParts prints bytes, and bits per posting, of each part.
func printParts(out io.Writer, s *riffle.Sizes) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\npart\tbytes\tbits/posting\t")
	for _, p := range []struct {
		name  string
		bytes uint64
	}{
		{"documents", s.Docs}, {"frequencies", s.Freqs}, {"directories", s.Directory}, {"positions", s.Positions}, {"dictionary keys", s.Dictionary},
		{"ids", s.IDs}, {"norms", s.Norms}, {"columns", s.Columns}, {"stored fields", s.Stored}, {"other", s.Other},
	} {
		fmt.Fprintf(w, "%s\t%d\t%.2f\t\n", p.name, p.bytes, 8*float64(p.bytes)/float64(max(s.Postings, 1)))
	}
	return w.Flush()
}

// An inventory is riffle.Stats as this command shows it: the contents of the directory, without the
// caches of this process.
type inventory struct {
	Docs       uint64          `json:"docs"`
	Deleted    uint64          `json:"deleted"`
	IndexBytes uint64          `json:"index_bytes"`
	DiskBytes  uint64          `json:"disk_bytes"`
	LogRecords uint64          `json:"log_records"`
	LogBytes   uint64          `json:"log_bytes"`
	Position   []byte          `json:"position,omitempty"` // riffle.Batch.Position, in base64
	Segments   []segmentLine   `json:"segments"`
	Fields     []fieldLine     `json:"fields"`
	Schema     json.RawMessage `json:"schema"`
	Parts      *riffle.Sizes   `json:"parts,omitempty"`
}

type segmentLine struct {
	Number  uint64 `json:"number"`
	Docs    uint32 `json:"docs"`
	Deleted uint64 `json:"deleted"`
	Bytes   int64  `json:"bytes"`
	Order   string `json:"order"`
	Memory  bool   `json:"memory,omitempty"` // read back from the log, not yet written out
	Format  int    `json:"format,omitempty"`
	Writer  string `json:"writer,omitempty"` // release of riffle
}

type fieldLine struct {
	Name     string `json:"name"`
	Docs     uint64 `json:"docs"`
	Terms    uint64 `json:"terms"`
	Postings uint64 `json:"postings"`
	Tokens   uint64 `json:"tokens"`
}

func newInventory(st *riffle.Stats, schema *riffle.Schema) *inventory {
	in := &inventory{
		Docs: st.Docs, Deleted: st.Deleted, IndexBytes: st.Store.SegmentBytes, DiskBytes: st.Store.DiskBytes, LogRecords: st.LogRecords, LogBytes: st.Store.LogBytes,
		Segments: []segmentLine{}, Fields: []fieldLine{}, Schema: json.RawMessage(schema.String()),
	}
	for _, s := range st.Segments {
		in.Segments = append(in.Segments, segmentLine{s.Number, s.Docs, s.Deleted, s.Bytes, s.Order.String(), !s.Sealed, s.Format, s.Writer})
	}
	for _, f := range st.Fields {
		in.Fields = append(in.Fields, fieldLine{f.Name, f.Docs, f.Terms, f.Postings, f.Tokens})
	}
	return in
}

func (in *inventory) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "documents    %d (%d deleted ones wait for a merge)\n", in.Docs, in.Deleted)
	fmt.Fprintf(w, "bytes        %d in segments, %d in all files\n", in.IndexBytes, in.DiskBytes)
	fmt.Fprintf(w, "log records  %d (%d bytes)\n", in.LogRecords, in.LogBytes)
	if in.Position != nil {
		fmt.Fprintf(w, "position     %q\n", in.Position)
	}
	fmt.Fprintf(w, "schema       %s\n\n", in.Schema)
	fmt.Fprintln(t, "segment\tdocuments\tdeleted\tbytes\torder\tformat\t")
	for _, s := range in.Segments {
		name, format := fmt.Sprint(s.Number), fmt.Sprint(s.Format)
		if s.Memory {
			name, format = "(log)", "-"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\t%s\t\n", name, s.Docs, s.Deleted, s.Bytes, s.Order, format)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	fmt.Fprintln(t, "field\tdocuments\tterms\tpostings\ttokens\t")
	for _, f := range in.Fields {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t\n", f.Name, f.Docs, f.Terms, f.Postings, f.Tokens)
	}
	return t.Flush()
}
