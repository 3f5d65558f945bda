package server

import (
	"context"
	"net/http"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// tokenHeader has the token of a change of an index of a cluster, also where the answer has no body.
const tokenHeader = "Riffle-Token"

// writeSharded carries out the change of a request in an index of a cluster, and answers with its outcome.
func (s *Server) writeSharded(w http.ResponseWriter, r *http.Request, ix *index, b *riffle.Batch, o outcome) error {
	written, err := s.write(r.Context(), ix, b, readingOf(r).Token)
	if err != nil {
		return err
	}
	for _, err := range written.Outcomes {
		if err != nil {
			return err
		}
	}
	w.Header().Set(tokenHeader, written.Token)
	if changed, ok := o.value.(client.Changed); ok {
		changed.Token = written.Token
		o.value = changed
	}
	return o.send(w)
}

// write is apply for an index of a cluster.
func (s *Server) write(ctx context.Context, ix *index, b *riffle.Batch, token string) (written *Written, err error) {
	ctx, _, done := s.span(ctx, "apply", ix)
	defer func() { done(err) }()
	return ix.sharded.Write(ctx, b, token)
}

// A shardedBulk carries out the groups of a bulk in an index of a cluster: one after the other, since the changes of a
// document keep their order, while the next one is read.
type shardedBulk struct {
	b       *bulk
	token   string // of all groups
	unknown int    // lines

	group []bulkLine
	ended chan struct{} // nil if no group is under way; closed when it has ended
	to    *Written
	err   error
}

// submit begins to write a group.
func (x *shardedBulk) submit(batch *riffle.Batch, group []bulkLine) error {
	if err := x.finish(); err != nil {
		return err
	}
	x.group, x.ended = group, make(chan struct{})
	go func() {
		defer close(x.ended)
		x.to, x.err = x.b.server.write(x.b.ctx, x.b.index, batch, x.token)
	}()
	return nil
}

// finish waits for the group that is under way.
func (x *shardedBulk) finish() error {
	if x.ended == nil {
		return nil
	}
	<-x.ended
	x.ended = nil
	if x.err != nil {
		if !ofLine(x.err) {
			return x.err
		}
		return x.apart(x.group)
	}
	x.note(x.group, x.to)
	return nil
}

// apart writes the lines of a group one by one: one of them is at fault, and nothing has been carried out.
func (x *shardedBulk) apart(group []bulkLine) error {
	for i := range group {
		batch, err := x.b.parse(group[i : i+1])
		var to *Written
		if err == nil {
			to, err = x.b.server.write(x.b.ctx, x.b.index, batch, x.token)
		}
		switch {
		case err == nil:
			x.note(group[i:i+1], to)
		case ofLine(err):
			x.b.fail(group[i].number, err)
		default:
			return err
		}
	}
	return nil
}

// note keeps what has become of the lines of a group.
func (x *shardedBulk) note(group []bulkLine, to *Written) {
	x.token = to.Token
	for i := range group {
		if err := to.Outcomes[i]; err != nil {
			x.b.fail(group[i].number, err)
		} else {
			x.b.statuses[group[i].number-1] = http.StatusOK
		}
		if x.b.statuses[group[i].number-1] == uint16(kindUnknown.status) {
			x.unknown++
		}
	}
}
