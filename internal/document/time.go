package document

import (
	"fmt"
	"time"
)

// ParseTime reads a time in RFC 3339, or a date alone (2024-01-05), which is midnight UTC.
func ParseTime(text string) (time.Time, error) {
	layout := time.RFC3339Nano
	if len(text) == len(time.DateOnly) {
		layout = time.DateOnly
	}
	t, err := time.Parse(layout, text)
	if err != nil {
		if len(text) > 64 {
			text = text[:32] + "…"
		}
		return t, fmt.Errorf("%q is not a time as RFC 3339 writes it (2024-01-05T10:00:00Z), nor a date (2024-01-05)", text)
	}
	return t, nil
}
