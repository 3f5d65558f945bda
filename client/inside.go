package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A PostingsRequest says which part of the lists of a term to describe.
type PostingsRequest struct {
	Field, Term string  // the term as Terms returns it
	Segment     *uint64 // only the list of this one
	Extents     bool    // ranges are extents of 32 blocks, not blocks
	From        int     // the first range of each list
	Limit       int     // the most ranges of each list; 0 stands for the server's default
}

// A PostingsAnswer describes the lists of a term, segment by segment. The members are those of
// riffle.PostingsList, which says what they mean.
type PostingsAnswer struct {
	Documents int            `json:"documents"` // that have the term, deleted ones included
	Lists     []PostingsList `json:"lists"`
}

// A PostingsList is the list of a term in a segment.
type PostingsList struct {
	Segment          uint64          `json:"segment"` // 0 in memory
	Base             uint32          `json:"base"`
	SegmentDocuments uint32          `json:"segment_documents"`
	Documents        int             `json:"documents"`
	Blocks           int             `json:"blocks"`
	Extents          int             `json:"extents"`
	Bytes            int64           `json:"bytes"`
	Bound            float64         `json:"bound"`
	CachedBytes      int64           `json:"cached_bytes"`
	Visits           uint64          `json:"visits"`
	Ranges           []PostingsRange `json:"ranges"`
}

// A PostingsRange is a block or an extent of a list.
type PostingsRange struct {
	Number    int     `json:"number"`
	First     uint32  `json:"first"`
	Last      uint32  `json:"last"`
	Postings  int     `json:"postings"`
	Bound     float64 `json:"bound"`
	Frequency uint32  `json:"frequency"`
	Length    uint32  `json:"length"`
	Encoding  string  `json:"encoding,omitempty"` // of a block
	Bits      int     `json:"bits,omitempty"`
}

// A CacheAnswer has the cached lists that searches look up most, in that order.
type CacheAnswer struct {
	Lists   []CachedList  `json:"lists"`   // in main memory
	Devices []DeviceCache `json:"devices"` // of each GPU
}

// A CachedName names a cached list.
type CachedName struct {
	Segment uint64 `json:"segment"` // 0 in memory
	Field   string `json:"field,omitempty"`
	Term    string `json:"term,omitempty"` // in hexadecimal digits if it is no text; a pair has a space between its words
	Kind    string `json:"kind"`           // "text", "pair", "value" for a number or the like, or "unknown"
}

// A CachedList is a list in main memory, with what riffle.CachedList says of it.
type CachedList struct {
	CachedName
	Visits    uint64 `json:"visits"`
	Postings  int    `json:"postings"`
	Bytes     int64  `json:"bytes"`
	Heads     int64  `json:"heads"`
	Code      int64  `json:"code"`
	Rows      int64  `json:"rows"`
	Bitmap    int64  `json:"bitmap"`
	Positions int64  `json:"positions"`
}

// A DeviceCache has lists in the memory of a GPU.
type DeviceCache struct {
	Device string             `json:"device"` // its name
	Lists  []DeviceCachedList `json:"lists"`
}

// A DeviceCachedList is one of them, with what riffle.GPUCachedList says of it.
type DeviceCachedList struct {
	CachedName
	Visits        float64 `json:"visits"`
	Extents       int     `json:"extents"`
	CachedExtents int     `json:"cached_extents"`
	CachedBytes   int64   `json:"cached_bytes"`
}

// A HistoryAnswer has the last seals and merges of an index, the newest first.
type HistoryAnswer struct {
	Events []HistoryEvent `json:"events"`
	Since  time.Time      `json:"since"` // events before are not known: the index was opened then, or the rest is forgotten
}

// A HistoryEvent is a seal, which writes documents in memory as a segment, or a merge of segments.
type HistoryEvent struct {
	Kind           string    `json:"kind"` // "seal" or "merge"
	End            time.Time `json:"end"`
	TookMS         float64   `json:"took_ms"`
	Segment        uint64    `json:"segment"` // that it made; 0 if no document was left
	Documents      int       `json:"documents"`
	Bytes          int64     `json:"bytes"`
	Inputs         []uint64  `json:"inputs,omitempty"` // segments that were merged
	InputDocuments int       `json:"input_documents,omitempty"`
	InputBytes     int64     `json:"input_bytes,omitempty"`
}

// Postings describes the lists of a term.
func (c *Client) Postings(ctx context.Context, index string, r *PostingsRequest) (*PostingsAnswer, error) {
	params := limited(r.Limit, "field", r.Field, "term", r.Term)
	if r.Segment != nil {
		params.Set("segment", strconv.FormatUint(*r.Segment, 10))
	}
	if r.Extents {
		params.Set("level", "extents")
	}
	if r.From > 0 {
		params.Set("from", strconv.Itoa(r.From))
	}
	a := new(PostingsAnswer)
	return a, c.do(ctx, call{method: http.MethodGet, path: in(index, "postings"), params: params}, a)
}

// Cache returns the cached lists that searches look up most. A limit of 0 stands for the server's default.
func (c *Client) Cache(ctx context.Context, index string, limit int) (*CacheAnswer, error) {
	a := new(CacheAnswer)
	return a, c.do(ctx, call{method: http.MethodGet, path: in(index, "cache"), params: limited(limit)}, a)
}

// History returns the last seals and merges of an index.
func (c *Client) History(ctx context.Context, index string) (*HistoryAnswer, error) {
	a := new(HistoryAnswer)
	return a, c.do(ctx, call{method: http.MethodGet, path: in(index, "history"), params: url.Values{}}, a)
}
