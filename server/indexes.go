package server

import (
	"net/http"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

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
	return writeJSON(w, http.StatusOK, client.IndexList{Indexes: list})
}

// createIndex makes a new index, with the schema of the body.
func (s *Server) createIndex(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Schema *riffle.Schema `json:"schema"`
	}
	if err := s.readJSON(w, r, &body); err != nil {
		return err
	}
	if err := body.Schema.Validate(); err != nil {
		p := kindRequest.caused(err)
		p.Part = "schema"
		return p
	}
	name := r.PathValue("index")
	if err := s.host.create(name, body.Schema); err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/indexes/"+name)
	return writeJSON(w, http.StatusCreated, map[string]string{"name": name})
}

// dropIndex closes an index and removes its files.
func (s *Server) dropIndex(w http.ResponseWriter, r *http.Request) error {
	if err := s.host.drop(r.PathValue("index")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
