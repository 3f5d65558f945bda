// Concurrent searches an index from several goroutines while others change it. It moves coins
// between accounts, two at a time in one batch, so their sum never changes. Every reader checks the
// sum on snapshots and finds it right each time.
//
//	go run ./examples/concurrent
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle"
)

const (
	accounts = 100
	coins    = 10 // of each account at the beginning
	readers  = 4
	writers  = 2
	moves    = 500 // of each writer
)

func main() {
	dir, err := os.MkdirTemp("", "riffle-concurrent-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), dir, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string, w io.Writer) error {
	e, err := riffle.Open(dir, &riffle.Options{
		Durability:  riffle.SyncNone,
		MemoryBytes: 64 << 10, // tiny, to cause seals and merges meanwhile
	})
	if err != nil {
		return err
	}
	defer e.Close()
	var b riffle.Batch
	for i := range accounts {
		b.Put(name(i), account(coins))
	}
	if err := e.Apply(ctx, &b); err != nil {
		return err
	}

	// An Engine needs no lock around it: all methods are safe for concurrent use.
	bank := bank{e: e, errs: make(chan error, readers+writers)}
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	for range writers {
		writing.Go(func() { bank.write(ctx) })
	}
	for range readers {
		reading.Go(func() { bank.read(ctx, done) })
	}
	writing.Wait()
	close(done)
	reading.Wait()
	close(bank.errs)
	if err := <-bank.errs; err != nil {
		return err
	}
	docs, err := e.Len()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d moves by %d writers\n", writers*moves, writers)
	fmt.Fprintf(w, "%d accounts hold %d coins, and did each of the %d times that %d readers looked\n",
		docs, accounts*coins, bank.looks.Load(), readers)
	return nil
}

func name(i int) string { return fmt.Sprintf("account-%03d", i) }

// account makes a document. Its state is derived from its balance, so searches for
// the two must agree.
func account(balance int) map[string]any {
	state := "funded"
	if balance == 0 {
		state = "empty"
	}
	return map[string]any{"balance": balance, "state": state}
}

type bank struct {
	e     *riffle.Engine
	mu    sync.Mutex   // makes a read and the write that follows from it one step
	looks atomic.Int64 // audits so far
	errs  chan error   // has room for one error of each goroutine
}

// write moves coins. The mutex belongs to the application: riffle orders batches, but does not know
// from what a batch was computed.
func (b *bank) write(ctx context.Context) {
	for range moves {
		from := rand.IntN(accounts)
		to := (from + 1 + rand.IntN(accounts-1)) % accounts // another one
		if err := b.move(ctx, from, to); err != nil {
			b.errs <- err
			return
		}
	}
}

func (b *bank) move(ctx context.Context, from, to int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, err := b.balance(ctx, from)
	if err != nil || f == 0 { // nothing to move
		return err
	}
	t, err := b.balance(ctx, to)
	if err != nil {
		return err
	}
	var batch riffle.Batch
	batch.Put(name(from), account(f-1))
	batch.Put(name(to), account(t+1))
	return b.e.Apply(ctx, &batch)
}

func (b *bank) balance(ctx context.Context, i int) (int, error) {
	fields, err := b.e.Get(ctx, name(i))
	if err != nil {
		return 0, err
	}
	return int(fields["balance"].(int64)), nil
}

// read looks at snapshots until the writers are done. Each is consistent: it has
// both halves of every move or neither, and two searches on it add up.
func (b *bank) read(ctx context.Context, done <-chan struct{}) {
	for {
		if err := b.audit(ctx); err != nil {
			b.errs <- err
			return
		}
		b.looks.Add(1)
		select {
		case <-done:
			return
		default:
		}
	}
}

func (b *bank) audit(ctx context.Context) error {
	s, err := b.e.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := s.Search(ctx, riffle.Match{Field: "state", Text: "funded empty"}, &riffle.SearchOptions{K: 2 * accounts, Load: []string{"balance"}})
	if err != nil {
		return err
	}
	sum := int64(0)
	for _, h := range all.Hits {
		sum += h.Fields["balance"].(int64)
	}
	if len(all.Hits) != accounts || sum != accounts*coins {
		return fmt.Errorf("%d accounts hold %d coins", len(all.Hits), sum)
	}
	empty, err := s.Count(ctx, riffle.Term{Field: "state", Value: "empty"})
	if err != nil {
		return err
	}
	broke, err := s.Count(ctx, riffle.Term{Field: "balance", Value: 0})
	if err != nil {
		return err
	}
	if empty != broke {
		return errors.New("the words and the numbers disagree")
	}
	return nil
}
