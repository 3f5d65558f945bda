package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// tables formats all records as Markdown: a table for each part, collection and machine, in the
// order in which they were first measured.
func tables(records []record) string {
	var out strings.Builder
	for len(records) > 0 {
		first := records[0]
		var same, others []record
		for _, r := range records {
			if r.Part == first.Part && r.On == first.On && r.Machine == first.Machine {
				same = append(same, r)
			} else {
				others = append(others, r)
			}
		}
		fmt.Fprintf(&out, "## %s, %s\n\n%s, %s:\n\n    %s\n\n", first.Part, first.On, first.Date.Format("2006-01-02"), first.Machine, first.Command)
		table(&out, same)
		records = others
	}
	return out.String()
}

func table(out *strings.Builder, records []record) {
	var columns []string
	for _, r := range records {
		for _, f := range r.Figures {
			if !slices.Contains(columns, f.Name) {
				columns = append(columns, f.Name)
			}
		}
	}
	fmt.Fprintf(out, "| | %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)))
	for _, r := range records {
		cells := make([]string, len(columns))
		for _, f := range r.Figures {
			cells[slices.Index(columns, f.Name)] = format(f.Value)
		}
		fmt.Fprintf(out, "| %s | %s |\n", r.Name, strings.Join(cells, " | "))
	}
	out.WriteByte('\n')
}

// format writes at least three digits.
func format(v any) string {
	x, ok := v.(float64)
	switch {
	case !ok:
		return fmt.Sprint(v)
	case x == math.Trunc(x) && math.Abs(x) < 1e15 || math.Abs(x) >= 100:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// plain formats figures on one line.
func plain(figures []figure) string {
	var words []string
	for _, f := range figures {
		words = append(words, f.Name+" "+format(f.Value))
	}
	return strings.Join(words, ", ")
}
