package server

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// sameSite refuses what a browser sends because a page of another site says so. Keys do not help there: the browser
// adds those of basic authentication by itself.
func (s *Server) sameSite(r *http.Request) error {
	if err := s.origins.Check(r); err != nil {
		return kindOrigin.caused(err)
	}
	if s.keys.Load() != nil {
		return nil // another name of this server has no keys in the browser
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || host == "localhost" || slices.Contains(s.opts.Hosts, host) {
		return nil
	}
	return kindOrigin.fault("without keys this server answers only for addresses, localhost and the hosts that it was told, not for %q", host)
}

// What a page of another site in Options.Origins may send, and what it may read besides the body.
const (
	crossMethods = "GET, HEAD, PUT, POST, PATCH, DELETE"
	crossHeaders = "Authorization, Content-Type, Content-Encoding, If-Match, If-None-Match, Idempotency-Key, Traceparent, Tracestate"
	crossReads   = "ETag, Location, Retry-After, Riffle-Request, Idempotency-Replayed, Riffle-Token, Allow, WWW-Authenticate"
)

// crossOrigin lets pages of the sites in Options.Origins read answers (CORS). It says whether the request was only the
// question of a browser for that ("preflight"), which it has answered then. Access-Control-Allow-Credentials is never
// sent: a page has to send a key itself, and cannot use one that the browser keeps.
func (s *Server) crossOrigin(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(s.opts.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(s.opts.Origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", crossReads)
		return false
	}
	h.Set("Access-Control-Allow-Methods", crossMethods)
	h.Set("Access-Control-Allow-Headers", crossHeaders)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
