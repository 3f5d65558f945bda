package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
)

func newCompact() *cobra.Command {
	var db string
	var codec choice[riffle.Codec]
	c := &cobra.Command{
		Use:   "compact --db DIR",
		Short: "Write everything into one segment and give space back",
		Long: `Merges all segments into one without deleted documents, which makes searches
faster and the index smaller. It takes about as long as writing the whole index,
and for that time the space of the old one too.`,
		Args: cobra.NoArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return compact(c, db, codec.value) }
	dbFlag(c, &db)
	declareCodec(c, &codec)
	return c
}

func compact(c *cobra.Command, db string, codec riffle.Codec) (err error) {
	e, err := openToChange(db, &riffle.Options{Codec: codec})
	if err != nil {
		return err
	}
	defer closing(e, &err)
	before, err := e.Stats()
	if err != nil {
		return err
	}
	if err := e.Compact(c.Context()); err != nil {
		return err
	}
	after, err := e.Stats()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "segments %d -> %d, deleted documents %d -> %d, bytes %d -> %d\n",
		len(before.Segments), len(after.Segments), before.Deleted, after.Deleted, before.Store.DiskBytes, after.Store.DiskBytes)
	return err
}

// declareCodec declares the codec flag of commands that write segments.
func declareCodec(c *cobra.Command, v *choice[riffle.Codec]) {
	*v = choice[riffle.Codec]{text: "interpolative", parse: riffle.ParseCodec, names: []string{"interpolative", "packed", "pfor", "rice"}}
	v.declare(c, "codec", "how to store posting lists")
}
