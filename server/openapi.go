package server

import (
	_ "embed"
	"net/http"
)

// openAPI describes the API: OpenAPI 3.1. TestOpenAPI compares it with the routes, and TestScripts with requests and
// answers.
//
//go:embed openapi.json
var openAPI []byte

// describe answers with the OpenAPI document.
func (s *Server) describe(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	return w.(*answer).whole(http.StatusOK, openAPI)
}
