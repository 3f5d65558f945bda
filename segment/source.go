package segment

// A Source is where a sealed segment is read from: an immutable sorted map. The
// store's segment reader is one, and so is a Go map with a sorted list of keys.
//
// A Source that is also a fmt.Stringer says in words what it is ("segment 7");
// errors then begin with that. All methods are safe for concurrent use.
type Source interface {
	// Get returns the value of key, which nobody changes afterwards, or
	// (nil, nil) when there is no such key.
	Get(key []byte) ([]byte, error)

	// Scan iterates over the keys of [lower, upper) in ascending order. The
	// caller closes the iterator.
	Scan(lower, upper []byte) (Iterator, error)
}

// An Iterator walks keys in ascending order. It starts before the first key, so
// Next comes first; after Next has returned false only Err and Close may be
// called. Key and Value lend their bytes until the next call of Next or Close.
type Iterator interface {
	Next() bool
	Key() []byte
	Value() []byte
	Err() error
	Close() error
}

// A Sink is where a segment is written to. The keys of kinds below 0x80 come in
// ascending order, and so do those from 0x80 up, but the two runs come
// interleaved: a sink keeps two tables, the first of them compressed. Set keeps
// neither key nor value after it has returned.
type Sink interface {
	Set(key, value []byte) error
}

// A TableSink is a Sink that takes a run of keys in tables of its own, which several goroutines write at once.
type TableSink interface {
	Sink

	// Table begins a table for keys of a kind below 0x7f, which lie behind those of the tables begun before it.
	// It is never called at the same time as Set, but what it returns is used beside both. From the first call
	// on all keys of the kind, which is the same at every call, come that way.
	Table(kind Kind) Table
}

// A Table takes keys in ascending order. Set keeps neither key nor value after it has returned. Finish comes last.
type Table interface {
	Sink
	Finish() error
}
