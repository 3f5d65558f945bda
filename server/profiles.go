package server

import (
	"bytes"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"time"
)

// profilePaths begins the patterns of profiles. They may take as long as a client can ask for at all.
const profilePaths = "GET /debug/pprof/"

// listProfiles answers with the names of all profiles.
func (s *Server) listProfiles(w http.ResponseWriter, r *http.Request) error {
	names := []string{"profile", "trace"}
	for _, p := range pprof.Profiles() {
		names = append(names, p.Name())
	}
	slices.Sort(names)
	return writeJSON(w, http.StatusOK, map[string][]string{"profiles": names})
}

// profile answers with a profile of the process, for go tool pprof, or with a trace, for go tool trace. Package
// net/http/pprof is not used because to import it is to add its paths to http.DefaultServeMux, which the program
// around this server may serve to everybody.
func (s *Server) profile(w http.ResponseWriter, r *http.Request) error {
	params := r.URL.Query()
	var out bytes.Buffer
	switch name := r.PathValue("profile"); name {
	case "profile", "trace":
		seconds, err := number(params, "seconds", map[string]int{"profile": 30, "trace": 1}[name], max(int(s.opts.MaxTimeout/time.Second)-1, 1))
		if err != nil {
			return err
		}
		start, stop := pprof.StartCPUProfile, pprof.StopCPUProfile
		if name == "trace" {
			start, stop = trace.Start, trace.Stop
		}
		if err := start(&out); err != nil {
			return kindBusy.fault("%v", err) // there is one at a time
		}
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-s.stop.Done():
		case <-r.Context().Done():
			err = r.Context().Err()
		}
		stop()
		if err != nil {
			return err
		}
	default:
		p := pprof.Lookup(name)
		if p == nil {
			return kindNotFound.fault("there is no profile %q", name)
		}
		debug := 0
		if params.Get("debug") != "" {
			var err error
			if debug, err = number(params, "debug", 1, 2); err != nil {
				return err
			}
		}
		if err := p.WriteTo(&out, debug); err != nil {
			return err
		}
		if debug > 0 {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			return w.(*answer).whole(http.StatusOK, out.Bytes())
		}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+strings.ReplaceAll(r.PathValue("profile"), `"`, "")+`"`)
	return w.(*answer).whole(http.StatusOK, out.Bytes())
}
