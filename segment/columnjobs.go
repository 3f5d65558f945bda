package segment

import (
	"context"
	"sync"

	"github.com/riffle-search/riffle/columns"
)

// A columnMaker makes a column of values, whose parts it gives to emit, and returns its builder.
type columnMaker func(name string, emit func(part uint32, data []byte) error) (*columns.Builder, error)

// A columnJob makes one column on a goroutine of its own.
type columnJob struct {
	name  string
	parts chan columnPart // closed behind the last; then what follows is valid
	made  *columns.Builder
	err   error
}

type columnPart struct {
	number uint32
	data   []byte
}

// Parts of some 64 KB that wait while other columns are written: a column has room for as many as a quarter of
// the merge's memory allows its workers, but at least a few.
const (
	columnPartBytes = 128 << 10
	leastParts      = 4
	mostParts       = 1024
)

// eachColumn writes columns in the order of their names, which ascend. Some goroutines make them. A column
// whose turn has not come waits when its room is full.
func (m *merger) eachColumn(names []string, workers int, produce columnMaker) error {
	if workers = min(workers, len(names)); workers <= 1 {
		for _, name := range names {
			w := m.beginColumn(name)
			made, err := produce(name, w.emit)
			if err != nil {
				return err
			}
			w.end(made)
		}
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx)
	var running sync.WaitGroup
	defer func() {
		cancel()
		m.opts.Cores.give()
		running.Wait()
		m.opts.Cores.take()
	}()
	room := min(max(leastParts, int(m.opts.MemoryBytes/4/int64(workers)/columnPartBytes)), mostParts)
	var jobs []*columnJob
	for i, name := range names {
		for len(jobs) < min(i+workers, len(names)) {
			j := &columnJob{name: names[len(jobs)], parts: make(chan columnPart, room)}
			jobs = append(jobs, j)
			running.Go(func() { j.run(ctx, m.opts.Cores, produce) })
		}
		w := m.beginColumn(name)
		j := jobs[i]
		for p := range j.received(m.opts.Cores) {
			if err := w.emit(p.number, p.data); err != nil {
				return err
			}
		}
		if j.err != nil {
			return j.err
		}
		w.end(j.made)
		jobs[i] = nil
	}
	return nil
}

// run makes the column, with turns of cores except while it waits.
func (j *columnJob) run(ctx context.Context, cores *Cores, produce columnMaker) {
	defer close(j.parts)
	cores.take()
	defer cores.give()
	j.made, j.err = produce(j.name, func(part uint32, data []byte) error {
		p := columnPart{part, data}
		select {
		case j.parts <- p:
			return nil
		default:
		}
		cores.give()
		defer cores.take()
		select {
		case j.parts <- p:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// received yields the parts. The caller has a turn of cores, except while it waits for one.
func (j *columnJob) received(cores *Cores) func(yield func(columnPart) bool) {
	return func(yield func(columnPart) bool) {
		for {
			var p columnPart
			var ok bool
			select {
			case p, ok = <-j.parts:
			default:
				cores.give()
				p, ok = <-j.parts
				cores.take()
			}
			if !ok || !yield(p) {
				return
			}
		}
	}
}
