package server

import "net/http"

// An unrouted is the answer to a request for which http.ServeMux looks for a route. What ServeMux answers by itself
// because there is none is discarded; all else goes to the client. So the mux looks once, and problems are this server's.
type unrouted struct {
	to   http.ResponseWriter
	r    *http.Request
	lost discarded
}

// found says whether there is a route, perhaps at another path, to which ServeMux redirects.
func (u *unrouted) found() bool { return u.r.Pattern != "" }

func (u *unrouted) Header() http.Header {
	if u.found() {
		return u.to.Header()
	}
	return u.lost.Header()
}

func (u *unrouted) Write(b []byte) (int, error) {
	if u.found() {
		return u.to.Write(b)
	}
	return u.lost.Write(b)
}

func (u *unrouted) WriteHeader(status int) {
	if u.found() {
		u.to.WriteHeader(status)
	} else {
		u.lost.WriteHeader(status)
	}
}

// A discarded is an answer of which only the status and the header count.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header {
	if d.header == nil {
		d.header = make(http.Header)
	}
	return d.header
}
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d *discarded) WriteHeader(status int)      { d.status = status }
