package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// requestForms are a search as a program writes it.
type requestForms struct{ JSON, Curl, Go string }

// formsOf writes a search in all forms. The page was asked for by r, so that clients reach the server as r did.
func formsOf(r *http.Request, index string, req *client.SearchRequest) requestForms {
	plain := *req
	if len(plain.Selections) == 0 {
		plain.Selections = nil
	}
	if plain.Text != nil && plain.Text.Text == "" {
		plain.Text = nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(plain); err != nil {
		return requestForms{JSON: err.Error()}
	}
	body := strings.TrimSpace(b.String())
	at := "http://" + r.Host + "/v1/indexes/" + index + "/search"
	if r.TLS != nil {
		at = "https" + strings.TrimPrefix(at, "http")
	}
	return requestForms{
		JSON: body,
		Curl: fmt.Sprintf("curl --json %s \\\n  %s", quoteShell(body), quoteShell(at)),
		Go:   inGo(&plain),
	}
}

// quoteShell quotes a text for a shell.
func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// inGo writes a search with a text as Go code.
func inGo(req *client.SearchRequest) string {
	var b strings.Builder
	q := "riffle.All{}"
	if req.Text != nil {
		q = "q"
		fmt.Fprintf(&b, "q, err := riffle.ParseQuery(%q, &riffle.ParseOptions{\n\tEngine: e, Fields: fields,\n})\nif err != nil {\n\treturn err\n}\n", req.Text.Text)
	}
	fmt.Fprintf(&b, "res, err := e.Search(ctx, %s, &riffle.SearchOptions{\n\tK: %d, From: %d, ExactTotal: %v, Load: %#v,\n", q, req.K, req.From, req.ExactTotal, req.Load)
	if len(req.Sort) > 0 {
		b.WriteString("\tSort: []riffle.SortKey{")
		for i, k := range req.Sort {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "{%s}", keyInGo(k))
		}
		b.WriteString("},\n")
	}
	if h := req.Highlight; h != nil {
		fmt.Fprintf(&b, "\tHighlight: &riffle.HighlightOptions{Fragments: %d},\n", h.Fragments)
	}
	if len(req.Aggregations) > 0 {
		b.WriteString("\tAggregations: map[string]riffle.Aggregation{\n")
		for _, name := range slices.Sorted(maps.Keys(req.Aggregations)) {
			if t, ok := req.Aggregations[name].(riffle.TermsAggregation); ok {
				fmt.Fprintf(&b, "\t\t%q: riffle.TermsAggregation{Field: %q, Size: %d},\n", name, t.Field, t.Size)
			}
		}
		b.WriteString("\t},\n")
	}
	if len(req.Selections) > 0 {
		b.WriteString("\tSelections: map[string]riffle.Query{\n")
		for _, name := range slices.Sorted(maps.Keys(req.Selections)) {
			fmt.Fprintf(&b, "\t\t%q: %#v,\n", name, req.Selections[name])
		}
		b.WriteString("\t},\n")
	}
	b.WriteString("})")
	return b.String()
}

// keyInGo writes the fields of a sort key.
func keyInGo(k riffle.SortKey) string {
	var parts []string
	switch {
	case k.Score:
		parts = append(parts, "Score: true")
	case k.ID:
		parts = append(parts, "ID: true")
	default:
		parts = append(parts, fmt.Sprintf("Field: %q", k.Field))
	}
	if k.Desc {
		parts = append(parts, "Desc: true")
	}
	return strings.Join(parts, ", ")
}
