package format

import (
	"fmt"
	"strings"
)

// The formats of an index, and the versions that this build reads. The meaning of each version is
// documented with the code that reads it. CONTRIBUTING.md says when one is increased.
var (
	Store    = Range{What: "store", Oldest: 1, Newest: 2}           // package store: keys, the manifest
	Sealed   = Range{What: "sealed value", Oldest: 1, Newest: 1}    // package store: values of keys that are not a segment's
	LogFile  = Range{What: "log file", Oldest: 1, Newest: 1}        // package store/wal
	Segment  = Range{What: "segment", Oldest: 4, Newest: 7}         // package segment
	Schema   = Range{What: "schema", Oldest: 1, Newest: 6}          // the schema stored in an index
	Options  = Range{What: "options", Oldest: 1, Newest: 1}         // the options stored in it
	Info     = Range{What: "index info", Oldest: 1, Newest: 2}      // what the manifest stores about the index as a whole
	Record   = Range{What: "log record", Oldest: 1, Newest: 3}      // the operations in a record of the log
	Document = Range{What: "stored document", Oldest: 1, Newest: 4} // values in records and in segments
)

// Updates of columns (package live) come with index info of version 2, so they are no entry of Written.
var Updates = Range{What: "updates of a column", Oldest: 1, Newest: 2}

// Written says which version of each format this build writes, one `format version` a line.
func Written() string {
	var b strings.Builder
	for _, r := range []Range{Store, Sealed, LogFile, Segment, Schema, Options, Info, Record, Document} {
		fmt.Fprintf(&b, "%s %d\n", r.What, r.Newest)
	}
	return b.String()
}
