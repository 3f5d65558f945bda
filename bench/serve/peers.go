package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"strings"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// A peer is a server that can be measured.
type peer struct {
	title   string
	build   func(dir string) error                // makes its index; nil if it needs none of its own
	start   func(name string) (*process, error)   // the process has its address
	clients int                                   // most that it serves at a time; 0 for any number
	request func(text string) (head, body string) // method and path, and the body of a POST
	hits    func(answer []byte) (int, error)      // counts the hits of an answer; nil if it has none
}

var peers map[string]*peer

// makePeers makes the peers, once the flags are known. A thread of tantivy-cli, of which it has 8 for each core, serves a
// connection until that is closed.
func makePeers() {
	peers = map[string]*peer{
		"nethttp": {title: "net/http that answers nothing", start: startRole, request: riffleRequest},
		"riffle":  {title: "riffle", build: buildRiffle, start: startRole, request: riffleRequest, hits: countMember("hits")},
		"bleve":   {title: "bleve", build: buildBleve, start: startRole, request: bleveRequest, hits: countMember("hits")},
		"tantivy": {title: "tantivy-cli", clients: 8 * *cores, build: buildTantivy, start: startTantivy, request: tantivyRequest, hits: countMember("hits")},
	}
}

// startRole starts this program as a server.
func startRole(name string) (*process, error) {
	p, err := inRole(name)
	if err != nil {
		return nil, err
	}
	line, err := p.out.ReadString('\n')
	p.addr = strings.TrimSpace(line)
	return p, err
}

// countMember returns a function that counts the elements of an array in an answer.
func countMember(name string) func([]byte) (int, error) {
	return func(answer []byte) (int, error) {
		var members map[string]json.RawMessage
		var list []json.RawMessage
		if err := json.Unmarshal(answer, &members); err != nil {
			return 0, err
		}
		err := json.Unmarshal(members[name], &list)
		return len(list), err
	}
}

// buildRiffle indexes the corpus.
func buildRiffle(dir string) error {
	f, err := riffle.Build(context.Background(), dir, riffle.JSONLines{Files: strings.Split(*corpus, ",")}, &riffle.BuildOptions{OneSegment: true, Index: riffle.Options{
		Schema: &riffle.Schema{Fields: map[string]riffle.Field{"text": {Type: riffle.FieldText, Analyzer: "english", NoStore: true}}, Dynamic: riffle.DynamicIgnore},
	}})
	if err == nil {
		log.Printf("indexed %d documents", f.Docs)
	}
	return err
}

func riffleRequest(text string) (head, body string) {
	data, err := json.Marshal(client.SearchRequest{Query: match(text), K: *k})
	if err != nil {
		panic(err) // a Match of text has a JSON form
	}
	return "POST /v1/indexes/bench/search", string(data)
}

func tantivyRequest(text string) (head, body string) {
	return fmt.Sprintf("GET /api/?%s", url.Values{"q": {text}, "nhits": {fmt.Sprint(*k)}}.Encode()), ""
}
