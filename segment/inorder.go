package segment

import (
	"context"
	"sync"
)

// inOrder takes jobs from next until it says that there are none, has several goroutines produce
// something of each, and calls use with that, in the order of the jobs. next and use are
// called by this goroutine. Each worker has a number below workers, which it hands
// to produce. About twice as many jobs as there are workers are on their way at a time.
//
// The first error, by order, ends everything; so does the end of ctx.
func inOrder[J, R any](ctx context.Context, workers int, next func() (job J, ok bool, err error), produce func(worker int, job J) (R, error), use func(job J, made R) error) error {
	type task struct {
		job  J
		made R
		err  error
		done chan struct{}
	}
	if workers <= 1 {
		return inTurn(ctx, next, produce, use)
	}
	tasks := make(chan *task, 2*workers)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(tasks)
	for w := range workers {
		wg.Go(func() {
			for t := range tasks {
				if ctx.Err() == nil {
					t.made, t.err = produce(w, t.job)
				}
				close(t.done)
			}
		})
	}
	var queue []*task
	for more := true; more || len(queue) > 0; {
		if more && len(queue) < cap(tasks) {
			job, ok, err := next()
			if err != nil {
				return err
			}
			if more = ok; ok {
				t := &task{job: job, done: make(chan struct{})}
				queue = append(queue, t)
				tasks <- t
			}
			continue
		}
		t := queue[0]
		queue[0], queue = nil, queue[1:] // what it made is not to be kept until the queue moves
		<-t.done
		err := ctx.Err()
		if err == nil {
			err = t.err
		}
		if err == nil {
			err = use(t.job, t.made)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inTurn is inOrder without workers.
func inTurn[J, R any](ctx context.Context, next func() (job J, ok bool, err error), produce func(worker int, job J) (R, error), use func(job J, made R) error) error {
	for {
		job, ok, err := next()
		if err == nil {
			err = ctx.Err()
		}
		if !ok || err != nil {
			return err
		}
		made, err := produce(0, job)
		if err == nil {
			err = use(job, made)
		}
		if err != nil {
			return err
		}
	}
}
