package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Client sends requests to a server. It is safe for concurrent use.
type Client struct {
	base    string
	opts    Options
	session *session // nil without one
}

// Options configure a Client. A nil *Options is valid, and a field left at its zero value takes the default that its
// comment names.
type Options struct {
	// Key is the API key that is sent with each request; empty for a server without keys.
	Key string

	// HTTP sends the requests. The default is http.DefaultClient.
	HTTP *http.Client

	// Retries is how often a request is sent again that a busy server has refused by 429, each time after as long as
	// the server says in Retry-After. The default is 5; a negative number stands for none.
	Retries int

	// Timeout is what the server is told that a request may take. The default leaves that to the server. Contexts
	// end requests at any time, but the server need not know.
	Timeout time.Duration
}

// New returns a client of the server at a URL such as "http://localhost:7700". A URL that cannot be used is an error
// of the first request.
func New(base string, o *Options) *Client {
	c := &Client{base: strings.TrimSuffix(base, "/")}
	if o != nil {
		c.opts = *o
	}
	if c.opts.HTTP == nil {
		c.opts.HTTP = http.DefaultClient
	}
	if c.opts.Retries == 0 {
		c.opts.Retries = 5
	}
	return c
}

// A call is a request in the making.
type call struct {
	method  string
	path    []string // not escaped yet
	params  url.Values
	body    any    // written as JSON
	lines   []byte // or a body of NDJSON
	version *uint64
	once    string // the idempotency key
}

// do sends a request and reads the answer as JSON into a value, unless that is nil.
func (c *Client) do(ctx context.Context, r call, value any) error {
	body, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer body.Close()
	if value == nil {
		_, err := io.Copy(io.Discard, body) // so that the connection can be used again
		return err
	}
	if err := json.NewDecoder(body).Decode(value); err != nil {
		return fmt.Errorf("client: the answer to %s /%s: %w", r.method, strings.Join(r.path, "/"), err)
	}
	return nil
}

// underWay is the type of the problem that the request was sent before, and is still being carried out.
const underWay = "urn:riffle:problem:under-way"

// open sends a request, again if the server is busy, and returns the body of the answer. The caller closes it.
func (c *Client) open(ctx context.Context, r call) (io.ReadCloser, error) {
	data := r.lines
	if r.body != nil {
		var err error
		if data, err = json.Marshal(r.body); err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
	}
	index, sent := indexOf(&r), []string(nil)
	if c.session != nil && index != "" {
		if len(r.path) == 3 { // it is made or dropped
			c.session.forget(index)
		}
		sent = c.session.of(index)
		params := url.Values{}
		for name, values := range r.params {
			params[name] = values
		}
		all := slices.Concat(params["token"], sent)
		slices.Sort(all)
		params["token"] = slices.Compact(all)
		r.params = params
	}
	for try := 0; ; try++ {
		res, err := c.send(ctx, r, data)
		if err != nil {
			return nil, err
		}
		if res.StatusCode < 300 {
			if token := res.Header.Get(tokenHeader); c.session != nil && token != "" {
				c.session.wrote(index, sent, token)
			}
			return res.Body, nil
		}
		p := problemOf(res)
		if res.StatusCode != http.StatusTooManyRequests && p.Type != underWay || try >= c.opts.Retries {
			return nil, p
		}
		if err := wait(ctx, res.Header.Get("Retry-After")); err != nil {
			return nil, errors.Join(p, err)
		}
	}
}

func (c *Client) send(ctx context.Context, r call, data []byte) (*http.Response, error) {
	var target strings.Builder
	target.WriteString(c.base)
	for _, part := range r.path {
		target.WriteString("/" + escape(part))
	}
	params := url.Values{}
	for name, values := range r.params {
		params[name] = values
	}
	if c.opts.Timeout > 0 {
		params.Set("timeout", c.opts.Timeout.String())
	}
	if len(params) > 0 {
		target.WriteString("?" + params.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target.String(), bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	switch {
	case r.lines != nil:
		req.Header.Set("Content-Type", "application/x-ndjson")
	case r.body != nil:
		req.Header.Set("Content-Type", "application/json")
	}
	if r.version != nil {
		if *r.version == 0 {
			req.Header.Set("If-None-Match", "*")
		} else {
			req.Header.Set("If-Match", `"`+strconv.FormatUint(*r.version, 10)+`"`)
		}
	}
	if r.once != "" {
		req.Header.Set("Idempotency-Key", r.once)
	}
	if c.opts.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.Key)
	}
	res, err := c.opts.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return res, nil
}

// escape writes a part of a path. Dots are escaped where they would be steps within the path: servers and proxies
// take them out.
func escape(part string) string {
	if part == "." || part == ".." {
		return strings.ReplaceAll(part, ".", "%2E")
	}
	return url.PathEscape(part)
}

// problemOf reads the problem of an answer. What else a proxy may have answered becomes one, too.
func problemOf(res *http.Response) *Problem {
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	p := new(Problem)
	if err != nil || json.Unmarshal(data, p) != nil || p.Status == 0 {
		p = &Problem{Type: "about:blank", Title: http.StatusText(res.StatusCode), Status: res.StatusCode}
		if text := strings.TrimSpace(string(data)); text != "" && len(text) < 200 {
			p.Detail = text
		}
	}
	return p
}

// wait waits as long as Retry-After says, and up to a half longer: those that were refused together do not come back
// together.
func wait(ctx context.Context, after string) error {
	seconds, err := strconv.Atoi(after)
	if err != nil || seconds < 0 {
		seconds = 1
	}
	d := time.Duration(seconds) * time.Second
	t := time.NewTimer(d + rand.N(d/2+time.Millisecond))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
