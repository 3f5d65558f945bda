package client

// A LineResult is what has become of a line of a body of NDJSON. The answer to such a body has one a line, and
// then a BulkSummary.
type LineResult struct {
	Line    int      `json:"line"`   // from 1; empty lines count and have no result
	Status  int      `json:"status"` // 200, or that of the problem
	Problem *Problem `json:"problem,omitempty"`
}

// A BulkSummary is the last line of the answer to a body of NDJSON. An answer without it has been cut off.
type BulkSummary struct {
	Changes int `json:"changes"` // lines that took effect
	Failed  int `json:"failed"`  // lines that did not, or of which it is not known

	// Of an index of a cluster:
	Unknown int    `json:"unknown,omitempty"` // lines of which it is not known whether they take effect: status 504
	Token   string `json:"token,omitempty"`   // reads with it see the changes
}
