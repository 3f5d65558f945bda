package scatter

import (
	"encoding/base64"
	"encoding/json"

	"github.com/riffle-search/riffle"
)

// cursorVersion is that of the texts of cursors.
const cursorVersion = 1

// A cursor is a place in the answer of all shards: for each, its last hit that comes before, and what
// the search was decided by.
type cursor struct {
	Version    int                `json:"v"`
	Epoch      uint64             `json:"e,omitempty"` // of the index: see SetEpoch
	Shards     []riffle.Cursor    `json:"s"`           // zero where no hit of the shard comes before
	Statistics *riffle.Statistics `json:"t"`
	Or         bool               `json:"o,omitempty"` // ModeAndOr: not enough documents have all words
}

// begun reports whether the cursor is not the beginning of an answer.
func (c *cursor) begun() bool { return c.Version != 0 }

// encode returns the text of the cursor, which is safe in a URL.
func (c *cursor) encode() (string, error) {
	at := *c
	at.Version = cursorVersion
	b, err := json.Marshal(&at)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// parseCursor reads a cursor of an index; an empty text is the beginning.
func (x *Index) parseCursor(text string) (c cursor, err error) {
	if text == "" {
		c.Shards, c.Epoch = make([]riffle.Cursor, len(x.shards)), x.epoch
		return c, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	switch {
	case err != nil:
		return c, invalid("SearchOptions.After", "no cursor: %w", err)
	case c.Version != cursorVersion:
		return c, invalid("SearchOptions.After", "a cursor of version %d; this program reads version %d", c.Version, cursorVersion)
	case len(c.Shards) != len(x.shards) || c.Statistics == nil:
		return c, invalid("SearchOptions.After", "a cursor of an index with %d shards; this one has %d", len(c.Shards), len(x.shards))
	case c.Epoch != x.epoch:
		return c, invalid("SearchOptions.After", "a cursor of an index that was dropped or reindexed; begin with the first page")
	}
	return c, nil
}
