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
