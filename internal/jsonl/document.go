package jsonl

// Limits of one line. They bound what a hostile line can cost; no real document
// comes near them.
const (
	MaxLineBytes = 128 << 20 // bytes of a line
	MaxNameBytes = 1024      // bytes of a field's name, with the dots
	MaxDepth     = 32        // objects inside each other, the document counted
	MaxFields    = 10_000    // names in a document
	MaxElements  = 1 << 20   // elements of a document's arrays, all together
)

// A Document is one line. It can be reused for line after line: its strings stay valid for good,
// the slice Fields only until the next line is read into it.
type Document struct {
	ID     string
	Fields []Field // in the order of the line
}

// A Field is a named value.
type Field struct {
	Name  string
	Value any // string, int64, uint64, float64, bool, []string, or []any of the first five
}

// Map returns the fields as a new map.
func (d *Document) Map() map[string]any {
	m := make(map[string]any, len(d.Fields))
	for _, f := range d.Fields {
		m[f.Name] = f.Value
	}
	return m
}

func (d *Document) reset() {
	clear(d.Fields) // releases the strings of the previous line
	d.ID, d.Fields = "", d.Fields[:0]
}
