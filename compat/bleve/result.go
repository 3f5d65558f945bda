package bleve

// A Result is the answer to a request, with bleve's names in JSON.
type Result struct {
	Status   Status            `json:"status"`
	Hits     []*Hit            `json:"hits"`
	Total    int               `json:"total_hits"`
	Cost     int               `json:"cost"` // always 0
	MaxScore float64           `json:"max_score"`
	Took     int64             `json:"took"` // in nanoseconds
	Facets   map[string]*Facet `json:"facets"`
}

// A Status counts the indexes that were searched.
type Status struct {
	Total      int `json:"total"`
	Failed     int `json:"failed"`
	Successful int `json:"successful"`
}

// A Hit is a document that was found. Its score is riffle's; all else is as in bleve.
type Hit struct {
	Index       string              `json:"index,omitempty"`
	ID          string              `json:"id"`
	Score       float64             `json:"score"`
	Locations   Locations           `json:"locations,omitempty"`
	Fragments   map[string][]string `json:"fragments,omitempty"`
	Sort        []string            `json:"sort,omitempty"`
	DecodedSort []string            `json:"decoded_sort,omitempty"`
	Fields      map[string]any      `json:"fields,omitempty"` // values: string, float64, bool, of a place []float64{lon, lat}, or []any of these

	terms  []string // for the sort keys that are fields
	order  [2]int   // number of the index, and place among its documents
	finder *finder
}

// add adds a value of a field.
func (h *Hit) add(field string, v any) {
	if h.Fields == nil {
		h.Fields = map[string]any{}
	}
	switch before := h.Fields[field].(type) {
	case nil:
		h.Fields[field] = v
	case []any:
		h.Fields[field] = append(before, v)
	default:
		h.Fields[field] = []any{before, v}
	}
}
