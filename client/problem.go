package client

// A Problem is what an answer says about an error: the problem details of RFC 9457, with members that say
// which part of the request is at fault.
type Problem struct {
	// Type is a URN that says which kind of fault it is, such as "urn:riffle:problem:query". The OpenAPI
	// document lists them. Programs decide by it; Title is the same for people.
	Type  string `json:"type"`
	Title string `json:"title"`

	Status   int    `json:"status"`             // that of the answer
	Detail   string `json:"detail,omitempty"`   // what is wrong this time
	Instance string `json:"instance,omitempty"` // the id of the request, which the server's log has, too

	Part   string `json:"part,omitempty"`   // of the request: "k", "Match.Mode"
	ID     *ID    `json:"id,omitempty"`     // of the document
	Field  string `json:"field,omitempty"`  // of the document
	Offset *int   `json:"offset,omitempty"` // bytes before the fault, in the text of a query or in the body
	Line   int    `json:"line,omitempty"`   // of a body of NDJSON, from 1: the first that has not been carried out
	Token  string `json:"token,omitempty"`  // with which a change by query that did not end goes on: ByQueryRequest.Resume
}

// Error returns the title and the detail.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Title
	}
	return p.Title + ": " + p.Detail
}
