package server

import (
	"context"
	"maps"
	"net/http"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// deleteByQuery deletes the documents that match.
func (s *Server) deleteByQuery(w http.ResponseWriter, r *http.Request) error {
	return s.byQuery(w, r, func(e *riffle.Engine, q riffle.Query, req *client.ByQueryRequest, o *riffle.ByQueryOptions) (*riffle.ByQueryProgress, error) {
		if req.Set != nil {
			return nil, kindRequest.fault("set is for updates")
		}
		return e.DeleteByQuery(r.Context(), q, o)
	})
}

// updateByQuery gives fields of the documents that match other values.
func (s *Server) updateByQuery(w http.ResponseWriter, r *http.Request) error {
	return s.byQuery(w, r, func(e *riffle.Engine, q riffle.Query, req *client.ByQueryRequest, o *riffle.ByQueryOptions) (*riffle.ByQueryProgress, error) {
		if len(req.Set) == 0 {
			f := kindRequest.fault("an update needs the fields to set")
			f.Part = "set"
			return nil, f
		}
		return e.UpdateByQuery(r.Context(), q, func(riffle.Document) (map[string]any, error) { return maps.Clone(req.Set), nil }, o)
	})
}

// byQuery carries out a change by query. If it does not end, the problem has the token to go on with.
func (s *Server) byQuery(w http.ResponseWriter, r *http.Request, change func(*riffle.Engine, riffle.Query, *client.ByQueryRequest, *riffle.ByQueryOptions) (*riffle.ByQueryProgress, error)) error {
	ix, err := s.findEngine(r)
	if err != nil {
		return err
	}
	var req client.ByQueryRequest
	if err := s.readJSON(w, r, &req); err != nil {
		return err
	}
	if req.Query == nil && req.Text == nil {
		f := kindRequest.fault(`query or text must say which documents; {"query": {"all": {}}} stands for all`)
		f.Part = "query"
		return f
	}
	q, _, err := ix.query(r.Context(), req.Query, req.Text, readingOf(r))
	if err != nil {
		return err
	}
	o := &riffle.ByQueryOptions{BatchDocs: req.BatchDocs, DocsPerSecond: req.DocsPerSecond, Resume: req.Resume}
	switch req.Conflicts {
	case "", "retry":
	case "skip":
		o.Conflicts = riffle.ConflictSkip
	case "abort":
		o.Conflicts = riffle.ConflictAbort
	default:
		f := kindRequest.fault(`must be "retry", "skip" or "abort", not %q`, req.Conflicts)
		f.Part = "conflicts"
		return f
	}
	p, err := change(ix.engine, q, &req, o)
	if err != nil {
		f := faultOf(err)
		if p != nil && context.Cause(r.Context()) != nil {
			f.Token = p.Token
		}
		return f
	}
	return writeJSON(w, http.StatusOK, client.ByQueryAnswer(*p))
}
