package client

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/riffle-search/riffle"
)

// An ID is the id of a document. In JSON it is a string, or {"bytes": "…"} in base64 if it is not UTF-8.
type ID string

type idBytes struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON writes the id.
func (id ID) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(id)) {
		return json.Marshal(string(id))
	}
	return json.Marshal(idBytes{[]byte(id)})
}

// UnmarshalJSON reads an id that MarshalJSON wrote.
func (id *ID) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*id = ID(text)
		return nil
	}
	var b idBytes
	if err := json.Unmarshal(data, &b); err != nil || b.Bytes == nil {
		return errors.New(`an id is a string, or {"bytes": "…"} in base64`)
	}
	*id = ID(b.Bytes)
	return nil
}

// A Document is a document of an index.
type Document struct {
	ID      ID             `json:"id"`
	Version uint64         `json:"version,omitempty"` // for conditional changes; the ETag has it, too. None in an index of a cluster
	Fields  map[string]any `json:"fields"`            // those that are stored
}

// A Changed is the answer to a change of one document.
type Changed struct {
	ID    ID     `json:"id"`
	Token string `json:"token,omitempty"` // of an index of a cluster: reads with it see the change
}

// An Index describes an index in the list of all.
type Index struct {
	Name      string `json:"name"`
	Documents uint64 `json:"documents"`
	Segments  int    `json:"segments"`
	Bytes     int64  `json:"bytes"` // of the segments

	Shards   int `json:"shards,omitempty"`   // of an index of a cluster, which has no figures of segments
	Replicas int `json:"replicas,omitempty"` // of each shard

	// Fault says why the documents of an index of a cluster could not be counted: a shard has no replica that answers.
	Fault string `json:"fault,omitempty"`
}

// A NewIndex says what an index that is created is like. What is not the schema is for servers with a cluster.
type NewIndex struct {
	Schema *riffle.Schema `json:"schema,omitempty"` // nil indexes each field by the kind of its values

	Shards    int      `json:"shards,omitempty"`     // parts of the documents, for good; 0 is 1
	Replicas  int      `json:"replicas,omitempty"`   // indexes of each shard; 0 is as many as there are nodes, 2 at most
	LogCopies int      `json:"log_copies,omitempty"` // of the log of each shard: 1, 3 or 5; 0 is 3, or 1 with fewer than 3 servers
	LogBytes  int64    `json:"log_bytes,omitempty"`  // of each log at most; 0 is the default of the cluster
	Nodes     []string `json:"nodes,omitempty"`      // that may have replicas; nil is those that are up
}

// An IndexList is the answer to a request for all indexes.
type IndexList struct {
	Indexes []Index `json:"indexes"` // by name
}
