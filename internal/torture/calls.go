package main

import (
	"context"
	"maps"
	"reflect"

	"github.com/riffle-search/riffle"
)

// Some batches of a life are calls by query instead. A call has several batches, none with a position, so that
// it can stop between two states: some documents are as before, the others as after. Then its token finishes
// it. Changes add to a number, which shows whether a document was changed twice.
type byQueryCall struct {
	query  riffle.Query
	remove bool
	docs   int // in a batch
}

// callAdds is what a call adds to the field num. Documents have smaller numbers at first.
const callAdds = 100

// isCall reports whether the batch that leads to a state is a call: one of those without a position.
func isCall(state int) bool { return state > 0 && state%5 == 0 }

// call makes a call, and the state that it leads to.
func (r random) call(from model) (*byQueryCall, model) {
	c := &byQueryCall{query: r.query(1), remove: r.IntN(3) == 0, docs: 1 + r.IntN(5)}
	if c.remove { // few
		c.query = riffle.Bool{Filter: []riffle.Query{c.query, riffle.Term{Field: "num", Value: r.IntN(8)}}}
	}
	next := maps.Clone(from)
	for _, id := range from.matches(c.query) {
		if c.remove {
			delete(next, id)
			continue
		}
		next[id] = maps.Clone(next[id])
		next[id]["num"] = next[id]["num"].(int64) + callAdds
	}
	return c, next
}

// do makes the call, or finishes one that was broken off.
func (c *byQueryCall) do(ctx context.Context, e *riffle.Engine, o *riffle.ByQueryOptions) error {
	o.BatchDocs = c.docs
	if c.remove {
		_, err := e.DeleteByQuery(ctx, c.query, o)
		return err
	}
	_, err := e.UpdateByQuery(ctx, c.query, func(d riffle.Document) (map[string]any, error) {
		return map[string]any{"num": d.Fields["num"].(int64) + callAdds}, nil
	}, o)
	return err
}

// byQuery makes the call that leads to a state, or finishes it.
func (v *living) byQuery(state int) error {
	o := &riffle.ByQueryOptions{Progress: func(p riffle.ByQueryProgress) {
		v.promise(func(all *promises) { all.call, all.token = state, p.Token })
	}}
	if p := v.promises(); p.call == state {
		o.Resume = p.token
	}
	return v.calls[state].do(v.ctx, v.e, o)
}

// within returns the documents of a snapshot, each of which must be as before the call that leads to a state
// or as after it.
func (l *life) within(s *riffle.Snapshot, state int) (model, error) {
	before, after := l.states[state-1], l.states[state]
	m := model{}
	for d, err := range s.Documents("") {
		if err != nil {
			return nil, err
		}
		if !reflect.DeepEqual(document(d.Fields), before[d.ID]) && !reflect.DeepEqual(document(d.Fields), after[d.ID]) {
			return nil, wrongf("document %q in call %d: %v, want %v or %v", d.ID, state, d.Fields, before[d.ID], after[d.ID])
		}
		m[d.ID] = d.Fields
	}
	for id := range after { // which has none that before lacks
		if d := before[id]; m[id] == nil && (l.expiry() == nil || d[until] != expired) {
			return nil, wrongf("document %q is missing in call %d", id, state)
		}
	}
	return m, nil
}

// finish finishes the call in which an index has stopped, if its token is known, and checks the result.
func (l *life) finish(e *riffle.Engine, state int, p promises) error {
	if p.call != state {
		return nil
	}
	if err := l.calls[state].do(background, e, &riffle.ByQueryOptions{Resume: p.token}); err != nil {
		return when(err, "finish call %d", state)
	}
	if _, _, err := l.state(e, state, state); err != nil {
		return when(err, "call %d was finished", state)
	}
	return nil
}
