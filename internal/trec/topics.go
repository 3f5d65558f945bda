package trec

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// A Topic is one query of an experiment.
type Topic struct {
	ID   string // without white space
	Text string // as in the file, without white space at its ends; may be empty
}

// ReadTopics reads `id<TAB>text` lines, in the order of the file. Errors call r
// by name.
func ReadTopics(name string, r io.Reader) ([]Topic, error) {
	var topics []Topic
	first := make(map[string]int) // line on which an id was seen
	err := eachLine(name, r, func(number int, line string) error {
		id, text, found := strings.Cut(line, "\t")
		if !found {
			return errors.New("no tab between query id and text")
		}
		if err := checkID("query", id); err != nil {
			return err
		}
		if n, dup := first[id]; dup {
			return fmt.Errorf("query %q is already on line %d", id, n)
		}
		first[id] = number
		topics = append(topics, Topic{ID: id, Text: strings.TrimSpace(text)})
		return nil
	})
	return topics, err
}

// checkID refuses ids that cannot be a field of a line separated by white space.
func checkID(kind, id string) error {
	if id == "" {
		return fmt.Errorf("empty %s id", kind)
	}
	if len(strings.Fields(id)) != 1 || strings.TrimSpace(id) != id {
		return fmt.Errorf("white space in %s id %q", kind, id)
	}
	return nil
}
