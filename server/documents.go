package server

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// getDocument answers with a document.
func (s *Server) getDocument(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.find(r)
	if err != nil {
		return err
	}
	d, err := ix.at.Document(r.Context(), r.PathValue("id"), readingOf(r))
	if err != nil {
		return err
	}
	tag := ""
	if ix.engine != nil { // replicas of a shard count versions each for itself
		tag = entityTag(d.Version)
		w.Header().Set("ETag", tag)
	}
	if text := r.Header.Get("If-None-Match"); text == "*" || tag != "" && hasTag(text, tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writeJSON(w, http.StatusOK, client.Document{ID: client.ID(d.ID), Version: d.Version, Fields: d.Fields})
}

// entityTag is the ETag of a version.
func entityTag(version uint64) string { return `"` + strconv.FormatUint(version, 10) + `"` }

// hasTag says whether a list of entity tags has one, weak or strong.
func hasTag(list, tag string) bool {
	for t := range strings.SplitSeq(list, ",") {
		if strings.TrimPrefix(strings.TrimSpace(t), "W/") == tag {
			return true
		}
	}
	return false
}

// A condition is the version that a document must have for a change.
type condition struct {
	set     bool
	version uint64 // 0 for no document
}

// conditionOf reads the condition of a change from If-Match, with one ETag, or If-None-Match: *.
func conditionOf(r *http.Request, ix *index) (c condition, err error) {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case ix.engine == nil && (match != "" || none != ""):
		return c, kindUnsupported.fault("If-Match and If-None-Match: documents of %s have no versions, since each replica counts its own", ix.name)
	case match != "" && none != "":
		return c, kindRequest.fault("If-Match and If-None-Match exclude each other")
	case none == "*":
		return condition{set: true}, nil
	case none != "":
		return c, kindRequest.fault("for a change If-None-Match can only be *, not %s", none)
	case match != "":
		text, begins := strings.CutPrefix(match, `"`)
		text, ends := strings.CutSuffix(text, `"`)
		version, err := strconv.ParseUint(text, 10, 64)
		if err != nil || !begins || !ends || version == 0 {
			return c, kindRequest.fault("If-Match must be the ETag of the document, such as %s, not %s", entityTag(17), match)
		}
		return condition{true, version}, nil
	}
	return c, nil
}

// putDocument adds a document, or replaces the one with its id.
func (s *Server) putDocument(w http.ResponseWriter, r *http.Request) error {
	return s.change(w, r, func(b *riffle.Batch, id string, fields map[string]any, c condition) {
		if c.set {
			b.PutIf(id, fields, c.version)
		} else {
			b.Put(id, fields)
		}
	})
}

// updateDocument gives fields of a document other values.
func (s *Server) updateDocument(w http.ResponseWriter, r *http.Request) error {
	return s.change(w, r, func(b *riffle.Batch, id string, fields map[string]any, c condition) {
		if c.set {
			b.UpdateIf(id, fields, c.version)
		} else {
			b.Update(id, fields)
		}
	})
}

// change applies one change, whose fields are the body, and answers with the document's id.
func (s *Server) change(w http.ResponseWriter, r *http.Request, add func(*riffle.Batch, string, map[string]any, condition)) error {
	ix, err := s.find(r)
	if err != nil {
		return err
	}
	c, err := conditionOf(r, ix)
	if err != nil {
		return err
	}
	data, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := decode(data, &fields); err != nil {
		return err
	}
	if fields == nil {
		return kindRequest.fault("a document is an object, not null")
	}
	var b riffle.Batch
	id := r.PathValue("id")
	add(&b, id, fields, c)
	return s.carryOut(w, r, ix, &b, outcome{status: http.StatusOK, value: client.Changed{ID: client.ID(id)}})
}

// deleteDocument deletes a document. To delete one that does not exist changes nothing and is no error.
func (s *Server) deleteDocument(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.find(r)
	if err != nil {
		return err
	}
	c, err := conditionOf(r, ix)
	if err != nil {
		return err
	}
	var b riffle.Batch
	if id := r.PathValue("id"); c.set {
		b.DeleteIf(id, c.version)
	} else {
		b.Delete(id)
	}
	return s.carryOut(w, r, ix, &b, outcome{status: http.StatusNoContent})
}

// postDocuments puts the document of the body under a new id, or applies the array of changes of the body as one
// batch: all of them take effect, or none. Of a body of NDJSON each line is a change for itself.
func (s *Server) postDocuments(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.find(r)
	if err != nil {
		return err
	}
	if isBulk(r) {
		return s.postBulk(ix, w, r)
	}
	data, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		var b riffle.Batch
		if err := checkUTF8(data); err != nil {
			return err
		}
		if err := json.Unmarshal(data, &b); err != nil {
			return asDocument(malformed(err), err)
		}
		if ix.engine == nil && b.Len() > 1 {
			return kindUnsupported.fault("an array takes effect as a whole or not at all, which shards cannot do together; send NDJSON, with one change a line")
		}
		return s.carryOut(w, r, ix, &b, outcome{status: http.StatusOK, value: map[string]int{"changes": b.Len()}})
	}
	var fields map[string]any
	if err := decode(data, &fields); err != nil {
		return err
	}
	if fields == nil {
		return kindRequest.fault("a document is an object, not null")
	}
	id := strings.ToLower(rand.Text())
	var b riffle.Batch
	b.Put(id, fields)
	return s.carryOut(w, r, ix, &b, outcome{http.StatusCreated, client.Changed{ID: client.ID(id)}, "/v1/indexes/" + ix.name + "/documents/" + url.PathEscape(id)})
}

// An outcome is the answer to a change that has taken effect.
type outcome struct {
	status   int
	value    any    // the body, as JSON; nil for none
	location string // of a new document, or empty
}

// send answers with the outcome.
func (o *outcome) send(w http.ResponseWriter) error {
	if o.location != "" {
		w.Header().Set("Location", o.location)
	}
	if o.value == nil {
		w.WriteHeader(o.status)
		return nil
	}
	return writeJSON(w, o.status, o.value)
}

// carryOut applies a batch and answers with the outcome. A batch that is under way when the time of the request ends is
// noted, for a client that asks again: see Server.once.
func (s *Server) carryOut(w http.ResponseWriter, r *http.Request, ix *index, b *riffle.Batch, o outcome) error {
	if ix.sharded != nil {
		return s.writeSharded(w, r, ix, b, o)
	}
	pending, err := s.apply(r.Context(), ix, b)
	if err != nil {
		out := w.(*answer)
		out.pending, out.outcome = pending, o
		return err
	}
	return o.send(w)
}

// asDocument returns the cause instead of a problem if it says which document is at fault.
func asDocument(p, cause error) error {
	var de *riffle.DocumentError
	if errors.As(cause, &de) {
		return cause
	}
	return p
}
