package server

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/client"
)

// explain derives the score of a document.
func (s *Server) explain(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.find(r)
	if err != nil {
		return err
	}
	var req client.ExplainRequest
	if err := s.readJSON(w, r, &req); err != nil {
		return err
	}
	q, _, err := ix.query(r.Context(), req.Query, req.Text, readingOf(r))
	if err != nil {
		return err
	}
	x, err := ix.at.Explain(r.Context(), q, string(req.ID), readingOf(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, explanationOf(x))
}

func explanationOf(x *riffle.Explanation) *client.Explanation {
	to := &client.Explanation{Matches: x.Matches, Score: x.Score, Text: x.Text}
	for _, p := range x.Parts {
		to.Parts = append(to.Parts, explanationOf(p))
	}
	return to
}

// analyze answers with the tokens of a text.
func (s *Server) analyze(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.find(r)
	if err != nil {
		return err
	}
	var req client.AnalyzeRequest
	if err := s.readJSON(w, r, &req); err != nil {
		return err
	}
	name := req.Analyzer
	if req.Field != "" {
		schema := ix.at.Schema()
		f, ok := schema.Fields[req.Field]
		if name != "" || !ok || f.Type != riffle.FieldText {
			p := kindRequest.fault("field must be one of text, without analyzer")
			p.Part = "field"
			return p
		}
		if name = f.Analyzer; name == "" {
			name = schema.Analyzer
		}
	}
	if name == "" {
		name = "standard"
	}
	a, err := ix.at.Analyzer(name)
	if err != nil {
		p := kindRequest.caused(err)
		p.Part = "analyzer"
		return p
	}
	answer := client.AnalyzeAnswer{Analyzer: name, Tokens: []client.Token{}}
	a.Analyze([]byte(req.Text), func(batch []analysis.Token) {
		for i := range batch {
			t := &batch[i]
			answer.Tokens = append(answer.Tokens, client.Token{Term: string(t.Term), Start: t.Start, End: t.End, Position: t.Position, Span: t.Span})
		}
	})
	return writeJSON(w, http.StatusOK, answer)
}

// suggest completes and corrects a word of a field.
func (s *Server) suggest(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.findEngine(r)
	if err != nil {
		return err
	}
	params := r.URL.Query()
	limit, err := number(params, "limit", 10, 1000)
	if err != nil {
		return err
	}
	list, err := ix.engine.Suggest(r.Context(), params.Get("field"), params.Get("q"), &riffle.SuggestOptions{Limit: limit})
	if err != nil {
		return err
	}
	answer := client.SuggestAnswer{Suggestions: make([]client.Suggestion, len(list))}
	for i := range list {
		answer.Suggestions[i] = client.Suggestion(list[i])
	}
	return writeJSON(w, http.StatusOK, answer)
}

// terms answers with terms of a field.
func (s *Server) terms(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.findEngine(r)
	if err != nil {
		return err
	}
	params := r.URL.Query()
	limit, err := number(params, "limit", 100, 10_000)
	if err != nil {
		return err
	}
	answer := client.TermsAnswer{Terms: []client.TermCount{}}
	for t, err := range ix.engine.Terms(r.Context(), params.Get("field"), params.Get("prefix")) {
		if err != nil {
			return err
		}
		if len(answer.Terms) == limit {
			answer.More = true
			break
		}
		answer.Terms = append(answer.Terms, client.TermCount(t))
	}
	return writeJSON(w, http.StatusOK, answer)
}

// number reads a parameter that is a whole number from 1 to most.
func number(params url.Values, name string, or, most int) (int, error) {
	text := params.Get(name)
	if text == "" {
		return or, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		p := kindRequest.fault("must be a whole number from 1 to %d, not %q", most, text)
		p.Part = name
		return 0, p
	}
	return n, nil
}

// schema answers with the schema of an index.
func (s *Server) schema(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.find(r)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, ix.at.Schema())
}

// stats answers with riffle.Stats. Members have the names of its fields in small letters.
func (s *Server) stats(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.findEngine(r)
	if err != nil {
		return err
	}
	st, err := ix.engine.Stats()
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, inSmallLetters(reflect.ValueOf(st)))
}

// inSmallLetters returns a value of structs as maps, with names such as cache_hit_bytes for CacheHitBytes. So
// figures that the engine learns to give are served without a change here.
func inSmallLetters(v reflect.Value) any {
	if text, ok := v.Interface().(fmt.Stringer); ok && v.Kind() < reflect.Array { // such as riffle.DocOrder
		return text.String()
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return inSmallLetters(v.Elem())
	case reflect.Struct:
		m := make(map[string]any, v.NumField())
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				m[snake(f.Name)] = inSmallLetters(v.Field(i))
			}
		}
		return m
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = inSmallLetters(v.Index(i))
		}
		return list
	}
	return v.Interface()
}
