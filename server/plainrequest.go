package server

import (
	"unicode/utf8"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
	"github.com/riffle-search/riffle/internal/plainjson"
)

// readPlainSearch reads a request for a search in one pass, if it has nothing but what most requests have. All
// others, and all that have an error, are read by client.SearchRequest.UnmarshalJSON, from the beginning.
func readPlainSearch(data []byte) (req *client.SearchRequest, ok bool) {
	if !utf8.Valid(data) {
		return nil, false
	}
	req = new(client.SearchRequest)
	r, seen := plainjson.NewReader(data), uint16(0)
	once := func(bit uint16) bool {
		first := seen&bit == 0
		seen |= bit
		return first
	}
	ok = r.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "query":
			raw, ok := r.Raw()
			if !ok || !once(1) {
				return false
			}
			q, err := riffle.UnmarshalQuery(raw)
			req.Query = q
			return err == nil
		case "text":
			if once(1 << 1) {
				req.Text, ok = readPlainText(&r)
			}
		case "k":
			req.K, ok = r.Int()
			ok = ok && once(1<<2)
		case "from":
			req.From, ok = r.Int()
			ok = ok && once(1<<3)
		case "after":
			var text string
			text, ok = r.String()
			req.After, ok = client.Cursor(text), ok && once(1<<4)
		case "cursors":
			req.Cursors, ok = r.Bool()
			ok = ok && once(1<<5)
		case "exact_total":
			req.ExactTotal, ok = r.Bool()
			ok = ok && once(1<<6)
		case "no_hits":
			req.NoHits, ok = r.Bool()
			ok = ok && once(1<<7)
		case "versions":
			req.Versions, ok = r.Bool()
			ok = ok && once(1<<8)
		case "load":
			req.Load, ok = r.Strings()
			ok = ok && once(1<<9)
		case "highlight":
			if once(1 << 10) {
				req.Highlight, ok = readPlainHighlight(&r)
			}
		}
		return ok
	})
	return req, ok && r.End()
}

func readPlainText(r *plainjson.Reader) (*client.Text, bool) {
	text, seen := new(client.Text), [3]bool{}
	return text, r.Object(func(name []byte) (ok bool) {
		i := 0
		switch string(name) {
		case "text":
			text.Text, ok = r.String()
		case "fields":
			i = 1
			text.Fields, ok = r.Strings()
		case "mode":
			i = 2
			text.Mode, ok = r.String()
		}
		ok = ok && !seen[i]
		seen[i] = true
		return ok
	})
}

func readPlainHighlight(r *plainjson.Reader) (*client.Highlight, bool) {
	h, seen := new(client.Highlight), [4]bool{}
	return h, r.Object(func(name []byte) (ok bool) {
		i := 0
		switch string(name) {
		case "fields":
			h.Fields, ok = r.Strings()
		case "fragments":
			i = 1
			h.Fragments, ok = r.Int()
		case "size":
			i = 2
			h.Size, ok = r.Int()
		case "html":
			i = 3
			h.HTML, ok = r.Bool()
		}
		ok = ok && !seen[i]
		seen[i] = true
		return ok
	})
}
