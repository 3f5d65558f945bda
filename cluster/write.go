package cluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/topology"
	"github.com/riffle-search/riffle/cluster/writer"
)

// Written says what has become of a batch.
type Written struct {
	Token    Token            // stands for all changes that are done
	Outcomes []writer.Outcome // of each change, in order
}

// Err returns the errors of all outcomes, joined, or nil if all changes are done.
func (w *Written) Err() error {
	var errs []error
	for i := range w.Outcomes {
		if err := w.Outcomes[i].Err; err != nil {
			errs = append(errs, fmt.Errorf("change %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

var (
	// ErrCondition says that a batch has conditions on the versions of documents, which replicas count each for
	// itself.
	ErrCondition = errors.New("cluster: changes cannot depend on versions")

	// ErrToken says that a text is no token, or a token is of another index.
	ErrToken = errors.New("cluster: the token is not of this index")
)

// write carries out changes that are valid: see Index.Write.
func (ix *generation) write(ctx context.Context, changes []riffle.EncodedChange) *Written {
	of := make([][]writer.Change, len(ix.writers)) // by shard
	from := make([][]int, len(ix.writers))         // their places in the batch
	for i := range changes {
		n := topology.ShardOf(changes[i].ID, len(ix.writers))
		of[n], from[n] = append(of[n], writer.Change(changes[i])), append(from[n], i)
	}
	w := &Written{Token: Token{Epoch: ix.epoch, Sequences: make([]uint64, len(ix.writers))}, Outcomes: make([]writer.Outcome, len(changes))}
	copy(w.Token.Sequences, ix.seen.Load().Replaces.Sequences) // so that it stands for changes of the index before, too
	var wg sync.WaitGroup
	for n := range of {
		if len(of[n]) == 0 {
			continue
		}
		wg.Go(func() {
			for j, o := range ix.writers[n].Write(ctx, of[n]) {
				w.Outcomes[from[n][j]] = o
				w.Token.Sequences[n] = max(w.Token.Sequences[n], o.Sequence)
			}
		})
	}
	wg.Wait()
	return w
}

// A Token stands for changes of an index: a read with the token sees them.
type Token struct {
	Epoch     uint64   `json:"e"` // of the index
	Sequences []uint64 `json:"s"` // for each shard, the last entry of its log, or 0
}

// IsZero reports whether the token stands for nothing.
func (t Token) IsZero() bool { return t.Sequences == nil }

// String returns the token as a text that is safe in a URL.
func (t Token) String() string {
	if t.IsZero() {
		return ""
	}
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // it is numbers
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseToken reads the text of a token; an empty one is the zero Token.
func ParseToken(text string) (t Token, err error) {
	if text == "" {
		return t, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err == nil && t.Sequences == nil {
		err = errors.New("it has no sequences")
	}
	if err != nil {
		return Token{}, fmt.Errorf("%w: %q is none: %w", ErrToken, text, err)
	}
	return t, nil
}

// And returns the token that stands for the changes of both, which must be of the same index. That of a later
// index, which another was reindexed into, stands for changes of the earlier one, too.
func (t Token) And(o Token) Token {
	switch {
	case t.IsZero():
		return o
	case o.IsZero(), t.Epoch > o.Epoch:
		return t
	case o.Epoch > t.Epoch:
		return o
	}
	both := Token{Epoch: t.Epoch, Sequences: append([]uint64(nil), t.Sequences...)}
	for i, n := range o.Sequences {
		if i < len(both.Sequences) {
			both.Sequences[i] = max(both.Sequences[i], n)
		}
	}
	return both
}

// Check returns an error that matches ErrToken unless a token is of this index.
func (ix *generation) Check(t Token) error {
	_, err := ix.token(t)
	return err
}

// token returns what a token stands for in this generation. One of the index that this one was made of stands for all of that.
func (ix *generation) token(t Token) (Token, error) {
	of := ix.seen.Load().Replaces
	switch {
	case t.IsZero():
		return t, nil
	case t.Epoch == ix.epoch && len(t.Sequences) == len(ix.shards):
		return t, nil
	case slices.Contains(of.Epochs, t.Epoch):
		return Token{Epoch: ix.epoch, Sequences: of.Sequences}, nil
	}
	return t, fmt.Errorf("%w: %s, unless it is of one of that name that was dropped", ErrToken, ix.name)
}
