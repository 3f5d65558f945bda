package riffle

import (
	"context"

	"github.com/riffle-search/riffle/internal/plan"
)

// A Suggestion is a term that a user may have meant.
type Suggestion struct {
	Term      string // as the field's analyzer has left it
	Documents uint64 // that have it, deleted ones included until a merge drops them
	Edits     int    // between the word and the term; 0 if the term begins with the word
}

// SuggestOptions are options of Engine.Suggest. The zero value is the default.
type SuggestOptions struct {
	Limit  int // most suggestions, 1 to 1,000; 0 stands for 10
	Edits  int // AutoEdits, NoEdits for completions only, 1 or 2
	Prefix int // characters at the beginning that corrections must not change
}

// maxSuggestions bounds SuggestOptions.Limit.
const maxSuggestions = 1000

// Suggest completes and corrects a word. First come the terms of the field that begin with it, those
// in most documents first. Then come terms that are a few edits away (see Fuzzy), those with the
// fewest edits first, and of these those in most documents. The word is normalized as that of Prefix
// is. A nil *SuggestOptions stands for the defaults.
//
// The first Suggest, Fuzzy, Regexp or Wildcard of a field reads all its terms, in some 200 ns each.
// They stay in memory, with 4 bytes for the documents of each. Later calls read a number for each term
// that begins with the word. Of documents that are not yet in a segment
// on disk, every call reads the terms that begin so.
func (e *Engine) Suggest(ctx context.Context, field, word string, o *SuggestOptions) ([]Suggestion, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.suggest(ctx, field, word, o)
}

// Suggest is Engine.Suggest at the moment of the snapshot.
func (s *Snapshot) Suggest(ctx context.Context, field, word string, o *SuggestOptions) ([]Suggestion, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.suggest(ctx, field, word, o)
}

func (v scope) suggest(ctx context.Context, field, word string, o *SuggestOptions) ([]Suggestion, error) {
	if o == nil {
		o = &SuggestOptions{}
	}
	limit := o.Limit
	if limit == 0 {
		limit = 10
	}
	if limit < 0 || limit > maxSuggestions {
		return nil, plan.Errorf("SuggestOptions.Limit", "must lie in 0 to %d, not %d", maxSuggestions, o.Limit)
	}
	set, err := v.settings(nil)
	if err != nil {
		return nil, err
	}
	p := v.e.newPreparer()
	defer p.Forget(v.View)
	found, err := p.Rewriter(v.View, &set.Settings).Suggest(ctx, plan.Fuzzy{Field: field, Term: word, Edits: o.Edits, Prefix: o.Prefix}, limit)
	out := make([]Suggestion, len(found))
	for i, s := range found {
		out[i] = Suggestion(s)
	}
	return out, err
}
