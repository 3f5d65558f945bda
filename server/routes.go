package server

import "net/http"

// A route is what the server does for a method and a path.
type route struct {
	pattern string // of http.ServeMux
	role    Role   // that a key needs
	queue   queue  // in which a request waits for its turn
	handle  func(*Server, http.ResponseWriter, *http.Request) error
}

// routes are all routes. TestAccess has a row for each of them, and the OpenAPI document an operation.
var routes = []route{
	{"GET /healthz", RoleNone, noQueue, (*Server).health},
	{"GET /readyz", RoleNone, noQueue, (*Server).ready},
	{"GET /metrics", RoleRead, noQueue, (*Server).metricsPage}, // figures say no more than /stats
	{"GET /debug/pprof/{$}", RoleAdmin, noQueue, (*Server).listProfiles},
	{"GET /debug/pprof/{profile}", RoleAdmin, noQueue, (*Server).profile},

	{"GET /{$}", RoleRead, searchQueue, shown((*Server).searchView)},
	{"GET /why", RoleRead, searchQueue, shown((*Server).whyView)},
	{"GET /inside", RoleRead, searchQueue, shown((*Server).insideView)},
	{"GET /cluster", RoleRead, searchQueue, shown((*Server).clusterView)},
	{"GET /watch", RoleRead, searchQueue, shown((*Server).watchView)},
	{"GET /assets/{file}", RoleNone, noQueue, (*Server).asset},

	{"GET /v1/openapi.json", RoleNone, noQueue, (*Server).describe},

	{"GET /v1/cluster", RoleRead, searchQueue, (*Server).clusterStatus},

	{"GET /v1/indexes", RoleRead, noQueue, (*Server).listIndexes},
	{"PUT /v1/indexes/{index}", RoleAdmin, writeQueue, (*Server).createIndex},
	{"DELETE /v1/indexes/{index}", RoleAdmin, writeQueue, (*Server).dropIndex},

	{"GET /v1/indexes/{index}/documents/{id}", RoleRead, searchQueue, (*Server).getDocument},
	{"PUT /v1/indexes/{index}/documents/{id}", RoleWrite, writeQueue, (*Server).putDocument},
	{"PATCH /v1/indexes/{index}/documents/{id}", RoleWrite, writeQueue, (*Server).updateDocument},
	{"DELETE /v1/indexes/{index}/documents/{id}", RoleWrite, writeQueue, (*Server).deleteDocument},
	{"GET /v1/indexes/{index}/documents", RoleRead, copyQueue, (*Server).export},
	{"POST /v1/indexes/{index}/documents", RoleWrite, writeQueue, (*Server).postDocuments},
	{"POST /v1/indexes/{index}/documents/delete", RoleWrite, writeQueue, (*Server).deleteByQuery},
	{"POST /v1/indexes/{index}/documents/update", RoleWrite, writeQueue, (*Server).updateByQuery},

	{"POST /v1/indexes/{index}/search", RoleRead, searchQueue, (*Server).search},
	{"GET /v1/indexes/{index}/search", RoleRead, searchQueue, (*Server).searchText},
	{"POST /v1/indexes/{index}/count", RoleRead, searchQueue, (*Server).count},
	{"POST /v1/indexes/{index}/explain", RoleRead, searchQueue, (*Server).explain},
	{"GET /v1/indexes/{index}/suggest", RoleRead, searchQueue, (*Server).suggest},
	{"GET /v1/indexes/{index}/terms", RoleRead, searchQueue, (*Server).terms},
	{"GET /v1/indexes/{index}/postings", RoleRead, searchQueue, (*Server).postings},
	{"POST /v1/indexes/{index}/analyze", RoleRead, searchQueue, (*Server).analyze},

	{"GET /v1/indexes/{index}/schema", RoleRead, noQueue, (*Server).schema},
	{"GET /v1/indexes/{index}/stats", RoleRead, noQueue, (*Server).stats},
	{"GET /v1/indexes/{index}/cache", RoleRead, searchQueue, (*Server).cache},
	{"GET /v1/indexes/{index}/history", RoleRead, noQueue, (*Server).history},
	{"POST /v1/indexes/{index}/compact", RoleAdmin, writeQueue, (*Server).compact},
	{"GET /v1/indexes/{index}/checkpoint", RoleAdmin, copyQueue, (*Server).checkpoint},
}

// health says that the process runs.
func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready says that the server takes requests.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	if s.drains.Load() {
		return kindStopping.fault("send requests elsewhere")
	}
	names, err := s.names(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"status": "ready", "indexes": len(names)})
}
