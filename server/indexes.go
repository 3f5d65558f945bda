package server

import (
	"context"
	"net/http"

	"github.com/riffle-search/riffle/client"
)

// find returns the index that the path of a request names.
func (s *Server) find(r *http.Request) (*index, error) {
	return s.named(r.Context(), r.PathValue("index"))
}

// named returns an index: one of this process, or one of the cluster.
func (s *Server) named(ctx context.Context, name string) (*index, error) {
	if ix := s.host.find(name); ix != nil {
		return ix, nil
	}
	if s.opts.Cluster == nil {
		return nil, kindNoIndex.fault("%q", name)
	}
	of, err := s.opts.Cluster.Index(ctx, name)
	if err != nil {
		return nil, err
	}
	return &index{name: name, at: of, sharded: of}, nil
}

// findEngine is find for what only an index of this process has.
func (s *Server) findEngine(r *http.Request) (*index, error) {
	ix, err := s.find(r)
	if err == nil && ix.engine == nil {
		err = kindUnsupported.fault("%s is divided over machines; this works on an index of one machine", ix.name)
	}
	return ix, err
}

// names returns the names of all indexes, those of this process first.
func (s *Server) names(ctx context.Context) ([]string, error) {
	var names []string
	for _, ix := range s.host.all() {
		names = append(names, ix.name)
	}
	if s.opts.Cluster == nil {
		return names, nil
	}
	more, err := s.opts.Cluster.Names(ctx)
	return append(names, more...), err
}

// listIndexes answers with all indexes.
func (s *Server) listIndexes(w http.ResponseWriter, r *http.Request) error {
	list := []client.Index{}
	for _, ix := range s.host.all() {
		st, err := ix.engine.Stats()
		if err != nil {
			return err
		}
		info := client.Index{Name: ix.name, Documents: st.Docs, Segments: len(st.Segments)}
		for i := range st.Segments {
			info.Bytes += st.Segments[i].Bytes
		}
		list = append(list, info)
	}
	if s.opts.Cluster != nil {
		more, err := s.opts.Cluster.Indexes(r.Context())
		if err != nil {
			return err
		}
		list = append(list, more...)
	}
	return writeJSON(w, http.StatusOK, client.IndexList{Indexes: list})
}

// createIndex makes a new index, as the body says.
func (s *Server) createIndex(w http.ResponseWriter, r *http.Request) error {
	var body client.NewIndex
	if err := s.readJSON(w, r, &body); err != nil {
		return err
	}
	if err := body.Schema.Validate(); err != nil {
		p := kindRequest.caused(err)
		p.Part = "schema"
		return p
	}
	name := r.PathValue("index")
	if err := s.create(r.Context(), name, &body); err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/indexes/"+name)
	return writeJSON(w, http.StatusCreated, map[string]string{"name": name})
}

func (s *Server) create(ctx context.Context, name string, o *client.NewIndex) error {
	if s.opts.Cluster == nil {
		if part := clusterPart(o); part != "" {
			p := kindRequest.fault("this server has no cluster: its indexes are on one machine")
			p.Part = part
			return p
		}
		return s.host.create(name, o.Schema)
	}
	if err := checkIndexName(name); err != nil {
		return err
	}
	if s.host.find(name) != nil {
		return kindExists.fault("%s", name)
	}
	return s.opts.Cluster.Create(ctx, name, o)
}

// clusterPart returns the first member of a request that only a cluster can carry out, or "".
func clusterPart(o *client.NewIndex) string {
	switch {
	case o.Shards != 0:
		return "shards"
	case o.Replicas != 0:
		return "replicas"
	case o.LogCopies != 0:
		return "log_copies"
	case o.LogBytes != 0:
		return "log_bytes"
	case o.Nodes != nil:
		return "nodes"
	}
	return ""
}

// dropIndex removes an index with its documents.
func (s *Server) dropIndex(w http.ResponseWriter, r *http.Request) error {
	name, err := r.PathValue("index"), error(nil)
	if s.opts.Cluster != nil && s.host.find(name) == nil {
		err = s.opts.Cluster.Drop(r.Context(), name)
	} else {
		err = s.host.drop(name)
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
