package segment

import (
	"context"
	"sync"
)

// inOrder takes jobs from next until there are no more, lets several goroutines compute a result
// for each with produce, and calls use with the results in the order of the jobs. It calls next and
// use in this goroutine. Each worker passes produce its number, which is below workers. About twice
// as many jobs as workers are in progress at a time.
//
// This goroutine has a turn of cores, except while it waits. Workers take their own for each job.
//
// The first error in the order of jobs ends everything, as does the end of ctx.
func inOrder[J, R any](ctx context.Context, workers int, cores *Cores, next func() (job J, ok bool, err error), produce func(worker int, job J) (R, error), use func(job J, made R) error) error {
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
	defer func() {
		close(tasks)
		cores.give()
		wg.Wait()
		cores.take()
	}()
	for w := range workers {
		wg.Go(func() {
			for t := range tasks {
				if ctx.Err() == nil {
					cores.take()
					t.made, t.err = produce(w, t.job)
					cores.give()
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
		queue[0], queue = nil, queue[1:] // drop the result before the queue moves
		cores.give()
		<-t.done
		cores.take()
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
