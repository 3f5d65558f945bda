package client

import (
	"encoding/json"
	"errors"
	"unicode/utf8"
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
	Version uint64         `json:"version"` // for conditional changes; the ETag has it, too
	Fields  map[string]any `json:"fields"`  // those that are stored
}

// A Changed is the answer to a change of one document.
type Changed struct {
	ID ID `json:"id"`
}

// An Index describes an index in the list of all.
type Index struct {
	Name      string `json:"name"`
	Documents uint64 `json:"documents"`
	Segments  int    `json:"segments"`
	Bytes     int64  `json:"bytes"` // of the segments
}

// An IndexList is the answer to a request for all indexes.
type IndexList struct {
	Indexes []Index `json:"indexes"` // by name
}
