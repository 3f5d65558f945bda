package document

// Limits of what a document may be.
const (
	MaxIDBytes   = 1024    // longest document id
	MaxNameBytes = 1024    // longest name of a field, with the dots, and of an analyzer
	MaxFields    = 1 << 15 // most values of one document
	MaxTermBytes = 32_766  // longest term, as in Lucene; a longer keyword is refused

	MaxPositionBytes = 1024 // longest position of a batch

	// MaxDocumentBytes bounds a document: the bytes of its strings and names, and 16 for each
	// value.
	MaxDocumentBytes = 512 << 20
)
