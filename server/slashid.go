package server

import (
	"context"
	"net/http"
	"strings"
)

// slashIDKey marks the context of a request for the document whose id is a slash.
type slashIDKey struct{}

// forSlashID returns a request for the document whose id is a slash so that http.ServeMux finds its route, and any
// other request as it is. ServeMux takes a part of a path that is %2F alone for the slash at the end of a path.
func forSlashID(r *http.Request) *http.Request {
	const end = "/documents/%2F"
	path := r.URL.EscapedPath()
	if len(path) < len(end) || !strings.EqualFold(path[len(path)-len(end):], end) {
		return r
	}
	r = r.WithContext(context.WithValue(r.Context(), slashIDKey{}, true))
	u := *r.URL
	u.Path, u.RawPath = u.Path+"/", path+"%2F" // some other id
	r.URL = &u
	return r
}

// setSlashID gives a request that forSlashID has changed its id.
func setSlashID(r *http.Request) {
	if r.Context().Value(slashIDKey{}) != nil {
		r.SetPathValue("id", "/")
	}
}
