package segment

// A Source is an immutable sorted map from which a sealed segment is read. The store's segment
// reader is one, and so is a Go map with a sorted list of keys.
//
// A Source may implement fmt.Stringer to name itself ("segment 7"); errors then begin with that.
// All methods are safe for concurrent use.
type Source interface {
	// Get returns the value of key, which never changes afterwards, or (nil, nil) when there is no
	// such key.
	Get(key []byte) ([]byte, error)

	// Ceil returns the first key in [key, upper) and its value, or (nil, nil, nil) when there is
	// none. Both belong to the caller.
	Ceil(key, upper []byte) (first, value []byte, err error)

	// Scan iterates over the keys of [lower, upper) in ascending order. The
	// caller closes the iterator.
	Scan(lower, upper []byte) (Iterator, error)
}

// A Lender is a Source that can lend some values: it has checked their bytes, and they stay where they
// are as long as the Source is reachable. ok is false for a value that it cannot lend, for whatever
// reason: Get says what is wrong.
type Lender interface {
	Source
	Lend(key []byte) (value []byte, ok bool)
}

// A PartLender is a Lender that can lend a value whose parts carry checksums of their own. Nothing of
// the value has been read or checked: before bytes [from, to) are used, read must have returned true
// for them, and their checksum must be right. read may be called by several goroutines at once.
type PartLender interface {
	Lender
	LendUnread(key []byte) (value []byte, read func(from, to int) bool, ok bool)
}

// An Iterator walks keys in ascending order. It starts before the first key, so call Next first.
// After Next has returned false, only Err and Close may be called. Key and Value are valid until
// the next call of Next or Close.
type Iterator interface {
	Next() bool
	Key() []byte
	Value() []byte
	Err() error
	Close() error
}

// A Sink is the destination of a segment. Keys of kinds below 0x80 come in ascending order, and so
// do those from 0x80 up, and those from 0xe0 up, but the three runs are interleaved. So a sink keeps
// three tables, the first of them compressed. Set keeps neither key nor value.
type Sink interface {
	Set(key, value []byte) error
}

// A TableSink is a Sink that takes a run of keys in separate tables, which several goroutines write
// at once.
type TableSink interface {
	Sink

	// Table begins a table for keys of a kind, above those of the tables begun earlier. It is never
	// called at the same time as Set, but the tables it returns are used concurrently with both. The
	// kind is the same at every call, and from the first call on all its keys come through tables. It
	// is below 0x7f, or above all kinds from 0x80 on that Set gets: then the tables are not compressed.
	Table(kind Kind) Table
}

// A Table takes keys in ascending order. Set keeps neither key nor value. Finish is the last call.
type Table interface {
	Sink
	Finish() error
}
