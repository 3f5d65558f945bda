package node

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/call"
	"github.com/riffle-search/riffle/cluster/replica"
)

const (
	holdFor     = time.Minute      // how long a replica waits for a barrier, and keeps its snapshot for a check
	listFaults  = 20               // the most faults that a reply has
	barrierWait = 30 * time.Second // how long a check waits until the replica has applied the barrier
)

// check compares what the engine of a replica has: its contents at a barrier, and all checksums. Checks run one
// after the other, because they read everything.
func (n *Node) check(ctx context.Context, r *replica.Replica, lane string) (*call.Reply, error) {
	short, cancel := context.WithTimeout(ctx, barrierWait)
	defer cancel()
	snapshot, at, err := r.Held(short, lane)
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	select {
	case n.checking <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-n.checking }()
	c := &call.Contents{}
	var engine *riffle.Engine // which may be closed meanwhile
	if err := r.Use(func(e *riffle.Engine) error { engine = e; return nil }); err != nil {
		return nil, err
	}
	if c.Docs, c.Documents, err = sumDocuments(ctx, snapshot); err != nil {
		return nil, err
	}
	if c.Terms, err = sumTerms(ctx, engine, snapshot); err != nil {
		return nil, err
	}
	err = engine.Check(ctx, func(fault error) {
		if len(c.Faults) == listFaults {
			c.More++
			return
		}
		c.Faults = append(c.Faults, fault.Error())
	})
	if err != nil {
		return nil, err
	}
	return &call.Reply{Position: at.Append(nil), Contents: c}, nil
}

// sumDocuments returns a digest of the ids and stored fields of all documents. Their versions are not part of it:
// they depend on how changes were grouped into batches.
func sumDocuments(ctx context.Context, s *riffle.Snapshot) (docs int, sum string, err error) {
	h := sha256.New()
	for d, err := range s.Documents("") {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, "", err
		}
		docs++
		addText(h, d.ID)
		addValue(h, d.Fields)
	}
	return docs, hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// addText adds a text, so that where it ends makes a difference.
func addText(h hash.Hash, s string) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(len(s)))
	h.Write(b[:])
	h.Write([]byte(s))
}

// addValue adds a value with its type.
func addValue(h hash.Hash, v any) {
	switch v := v.(type) {
	case map[string]any:
		addText(h, fmt.Sprint("fields ", len(v)))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			addText(h, name)
			addValue(h, v[name])
		}
	case []any:
		addText(h, fmt.Sprint("list ", len(v)))
		for _, one := range v {
			addValue(h, one)
		}
	case string:
		addText(h, "text")
		addText(h, v)
	case float64:
		addText(h, fmt.Sprint("float ", math.Float64bits(v)))
	case time.Time:
		addText(h, "time "+v.UTC().Format(time.RFC3339Nano))
	default:
		addText(h, fmt.Sprintf("%T %v", v, v))
	}
}

// sumTerms returns a digest of the terms of all texts and keywords, with the number of documents that have each. It is a
// sum, since a term may come in several parts, in any order.
func sumTerms(ctx context.Context, e *riffle.Engine, s *riffle.Snapshot) (string, error) {
	st, err := e.Stats()
	if err != nil {
		return "", err
	}
	sum := uint64(0)
	for _, f := range st.Fields {
		err := s.CountTerms(ctx, riffle.All{}, f.Name, "", func(term []byte, matching, _ int) error {
			h := xxhash.New()
			addText(h, f.Name)
			h.Write(term)
			sum += h.Sum64() * uint64(matching)
			return nil
		})
		if _, none := errors.AsType[*riffle.QueryError](err); none { // it has numbers or dates
			continue
		}
		if err != nil {
			return "", fmt.Errorf("the terms of field %s: %w", f.Name, err)
		}
	}
	return fmt.Sprintf("%016x", sum), nil
}
