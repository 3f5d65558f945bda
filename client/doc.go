// Package client is for programs that use riffle over HTTP. It has the requests and answers of the API, which package
// server reads and writes as well, so that the two cannot differ, and a Client that sends them:
//
//	c := client.New("http://localhost:7700", &client.Options{Key: key})
//	err := c.CreateIndex(ctx, "books", &riffle.Schema{Analyzer: "english"})
//	err = c.Put(ctx, "books", "moby", map[string]any{"title": "Moby Dick", "year": 1851})
//	a, err := c.Search(ctx, "books", &client.SearchRequest{Query: riffle.Match{Field: "title", Text: "whales"}})
//
// Queries, sort keys and aggregations are those of package riffle. The example of package server is a whole program.
//
// # Errors
//
// An error that the server answers with is a *Problem:
//
//	if p, ok := errors.AsType[*client.Problem](err); ok && p.Status == http.StatusNotFound {
//
// A server that is busy refuses requests before it has begun with them. The Client waits as long as the server asks
// for, and sends them again; see Options.Retries.
//
// # Many documents
//
// A Writer sends changes in bodies of a few megabytes, and Export reads documents one after the other.
//
// # Ids
//
// Ids are any bytes, in paths and in JSON: see ID. Within a path "." and ".." are escaped, which a proxy may undo.
package client
