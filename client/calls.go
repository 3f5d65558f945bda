package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/riffle-search/riffle"
)

// in returns the path of a part of an index.
func in(index string, parts ...string) []string {
	return append([]string{"v1", "indexes", index}, parts...)
}

var errEmptyID = errors.New("client: the id of a document must not be empty")

// Health returns nil if the server runs.
func (c *Client) Health(ctx context.Context) error {
	return c.do(ctx, call{method: http.MethodGet, path: []string{"healthz"}}, nil)
}

// Ready returns nil if the server takes requests.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, call{method: http.MethodGet, path: []string{"readyz"}}, nil)
}

// OpenAPI returns the document that describes the server.
func (c *Client) OpenAPI(ctx context.Context) (doc json.RawMessage, err error) {
	err = c.do(ctx, call{method: http.MethodGet, path: []string{"v1", "openapi.json"}}, &doc)
	return doc, err
}

// Metrics writes the figures of the server for Prometheus.
func (c *Client) Metrics(ctx context.Context, w io.Writer) error {
	return c.copy(ctx, call{method: http.MethodGet, path: []string{"metrics"}}, w)
}

// Profiles returns the names of the profiles of the server's process.
func (c *Client) Profiles(ctx context.Context) ([]string, error) {
	var a struct{ Profiles []string }
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"debug", "pprof", ""}}, &a)
	return a.Profiles, err
}

// Profile writes a profile of the server's process. The profiles "profile" and "trace" take a number of seconds, for
// which 0 stands for the server's default.
func (c *Client) Profile(ctx context.Context, name string, seconds int, w io.Writer) error {
	params := url.Values{}
	if seconds > 0 {
		params.Set("seconds", strconv.Itoa(seconds))
	}
	return c.copy(ctx, call{method: http.MethodGet, path: []string{"debug", "pprof", name}, params: params}, w)
}

// copy writes the body of an answer.
func (c *Client) copy(ctx context.Context, r call, w io.Writer) error {
	body, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(w, body)
	return err
}

// Indexes returns all indexes by name.
func (c *Client) Indexes(ctx context.Context) ([]Index, error) {
	var list IndexList
	err := c.do(ctx, call{method: http.MethodGet, path: []string{"v1", "indexes"}}, &list)
	return list.Indexes, err
}

// CreateIndex makes a new index. A nil schema indexes each field by the kind of its values.
func (c *Client) CreateIndex(ctx context.Context, index string, schema *riffle.Schema) error {
	body := map[string]*riffle.Schema{}
	if schema != nil {
		body["schema"] = schema
	}
	return c.do(ctx, call{method: http.MethodPut, path: in(index), body: body}, nil)
}

// CreateSharded makes a new index on the nodes of a cluster.
func (c *Client) CreateSharded(ctx context.Context, index string, o *NewIndex) error {
	return c.do(ctx, call{method: http.MethodPut, path: in(index), body: o}, nil)
}

// DropIndex removes an index and its files.
func (c *Client) DropIndex(ctx context.Context, index string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: in(index)}, nil)
}

// Schema returns the schema of an index.
func (c *Client) Schema(ctx context.Context, index string) (*riffle.Schema, error) {
	s := new(riffle.Schema)
	return s, c.do(ctx, call{method: http.MethodGet, path: in(index, "schema")}, s)
}

// Stats returns the figures of riffle.Stats, by names such as cache_hit_bytes for CacheHitBytes.
func (c *Client) Stats(ctx context.Context, index string) (figures map[string]any, err error) {
	err = c.do(ctx, call{method: http.MethodGet, path: in(index, "stats")}, &figures)
	return figures, err
}

// Compact merges all segments of an index into one.
func (c *Client) Compact(ctx context.Context, index string) error {
	return c.do(ctx, call{method: http.MethodPost, path: in(index, "compact")}, nil)
}

// Checkpoint writes a copy of an index as a tar archive. An error means that the copy is not whole.
func (c *Client) Checkpoint(ctx context.Context, index string, w io.Writer) error {
	return c.copy(ctx, call{method: http.MethodGet, path: in(index, "checkpoint")}, w)
}

// Document returns a document. The error of one that does not exist is a *Problem with the status 404.
func (c *Client) Document(ctx context.Context, index, id string) (*Document, error) {
	if id == "" {
		return nil, errEmptyID
	}
	d := new(Document)
	return d, c.do(ctx, call{method: http.MethodGet, path: in(index, "documents", id)}, d)
}

// Put adds a document, or replaces the one with its id. doc is what encoding/json writes as an object.
func (c *Client) Put(ctx context.Context, index, id string, doc any) error {
	return c.change(ctx, http.MethodPut, index, id, doc, nil)
}

// PutIf is Put on the condition that the document has a version, or, for 0, that there is none with its id. Otherwise
// the error is a *Problem with the status 412.
func (c *Client) PutIf(ctx context.Context, index, id string, doc any, version uint64) error {
	return c.change(ctx, http.MethodPut, index, id, doc, &version)
}

// Update gives fields of a document other values; see riffle.Batch.Update.
func (c *Client) Update(ctx context.Context, index, id string, fields any) error {
	return c.change(ctx, http.MethodPatch, index, id, fields, nil)
}

// UpdateIf is Update on a condition: see PutIf.
func (c *Client) UpdateIf(ctx context.Context, index, id string, fields any, version uint64) error {
	return c.change(ctx, http.MethodPatch, index, id, fields, &version)
}

// Delete deletes a document, if it exists.
func (c *Client) Delete(ctx context.Context, index, id string) error {
	return c.change(ctx, http.MethodDelete, index, id, nil, nil)
}

// DeleteIf is Delete on a condition: see PutIf.
func (c *Client) DeleteIf(ctx context.Context, index, id string, version uint64) error {
	return c.change(ctx, http.MethodDelete, index, id, nil, &version)
}

func (c *Client) change(ctx context.Context, method, index, id string, fields any, version *uint64) error {
	if id == "" {
		return errEmptyID
	}
	return c.do(ctx, call{method: method, path: in(index, "documents", id), body: fields, version: version}, nil)
}

// Add puts a document under a new id, and returns that.
func (c *Client) Add(ctx context.Context, index string, doc any) (ID, error) {
	var a Changed
	err := c.do(ctx, call{method: http.MethodPost, path: in(index, "documents"), body: doc}, &a)
	return a.ID, err
}

// Apply carries out all changes of a batch, or none. The position of the batch must be empty.
func (c *Client) Apply(ctx context.Context, index string, b *riffle.Batch) error {
	if len(b.Position) > 0 {
		return errors.New("client: the position of a batch is not sent")
	}
	return c.do(ctx, call{method: http.MethodPost, path: in(index, "documents"), body: b}, nil)
}

// DeleteByQuery deletes the documents that match. If it does not end, the *Problem has the token to go on with.
func (c *Client) DeleteByQuery(ctx context.Context, index string, r *ByQueryRequest) (*ByQueryAnswer, error) {
	a := new(ByQueryAnswer)
	return a, c.do(ctx, call{method: http.MethodPost, path: in(index, "documents", "delete"), body: r}, a)
}

// UpdateByQuery gives fields of the documents that match other values. If it does not end, the *Problem has the token
// to go on with.
func (c *Client) UpdateByQuery(ctx context.Context, index string, r *ByQueryRequest) (*ByQueryAnswer, error) {
	a := new(ByQueryAnswer)
	return a, c.do(ctx, call{method: http.MethodPost, path: in(index, "documents", "update"), body: r}, a)
}

// Export returns all documents in the order of their ids, as they are when the first one is read, from an id on.
// An error is the last element, also if the answer was cut off: to go on, begin with the id of the last document.
func (c *Client) Export(ctx context.Context, index, from string) iter.Seq2[*Document, error] {
	return func(yield func(*Document, error) bool) {
		params := url.Values{}
		if from != "" {
			params.Set("from", from)
		}
		body, err := c.open(ctx, call{method: http.MethodGet, path: in(index, "documents"), params: params})
		if err != nil {
			yield(nil, err)
			return
		}
		defer body.Close()
		for d := json.NewDecoder(bufio.NewReader(body)); ; {
			doc := new(Document)
			switch err := d.Decode(doc); {
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, fmt.Errorf("client: export of %s: %w", index, err))
				return
			case !yield(doc, nil):
				return
			}
		}
	}
}

// Search returns the best documents.
func (c *Client) Search(ctx context.Context, index string, r *SearchRequest) (*SearchAnswer, error) {
	a := new(SearchAnswer)
	return a, c.do(ctx, call{method: http.MethodPost, path: in(index, "search"), body: r}, a)
}

// SearchAfter is Search in an index of a cluster, of which the answer sees the changes that a token stands for.
func (c *Client) SearchAfter(ctx context.Context, index, token string, r *SearchRequest) (*SearchAnswer, error) {
	params := url.Values{}
	if token != "" {
		params.Set("token", token)
	}
	a := new(SearchAnswer)
	return a, c.do(ctx, call{method: http.MethodPost, path: in(index, "search"), params: params, body: r}, a)
}

// SearchText returns the k best documents for a text in the query language. Search takes all options.
func (c *Client) SearchText(ctx context.Context, index, text string, k int) (*SearchAnswer, error) {
	params := url.Values{"q": {text}}
	if k > 0 {
		params.Set("k", strconv.Itoa(k))
	}
	a := new(SearchAnswer)
	return a, c.do(ctx, call{method: http.MethodGet, path: in(index, "search"), params: params}, a)
}

// Count returns how many documents match.
func (c *Client) Count(ctx context.Context, index string, r *CountRequest) (int, error) {
	var a CountAnswer
	err := c.do(ctx, call{method: http.MethodPost, path: in(index, "count"), body: r}, &a)
	return a.Count, err
}

// Explain derives the score of a document.
func (c *Client) Explain(ctx context.Context, index string, r *ExplainRequest) (*Explanation, error) {
	x := new(Explanation)
	return x, c.do(ctx, call{method: http.MethodPost, path: in(index, "explain"), body: r}, x)
}

// Suggest completes and corrects a word of a field. A limit of 0 stands for the server's default.
func (c *Client) Suggest(ctx context.Context, index, field, word string, limit int) ([]Suggestion, error) {
	var a SuggestAnswer
	err := c.do(ctx, call{method: http.MethodGet, path: in(index, "suggest"), params: limited(limit, "field", field, "q", word)}, &a)
	return a.Suggestions, err
}

// Terms returns terms of a field that begin with a prefix, in the order of their bytes. A limit of 0 stands for the
// server's default.
func (c *Client) Terms(ctx context.Context, index, field, prefix string, limit int) (*TermsAnswer, error) {
	a := new(TermsAnswer)
	return a, c.do(ctx, call{method: http.MethodGet, path: in(index, "terms"), params: limited(limit, "field", field, "prefix", prefix)}, a)
}

// limited returns parameters, given as names and values.
func limited(limit int, pairs ...string) url.Values {
	params := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		params.Set(pairs[i], pairs[i+1])
	}
	if limit > 0 {
		params.Set("limit", strconv.Itoa(limit))
	}
	return params
}

// Analyze returns the tokens of a text.
func (c *Client) Analyze(ctx context.Context, index string, r *AnalyzeRequest) (*AnalyzeAnswer, error) {
	a := new(AnalyzeAnswer)
	return a, c.do(ctx, call{method: http.MethodPost, path: in(index, "analyze"), body: r}, a)
}
