package segment

// A pace makes work in the background yield its core from time to time. A goroutine that never
// waits keeps a core for the 10 ms of the scheduler's time slice, and may be interrupted with a
// lock in its hands. On a machine with few cores, searches would wait for a slice of every seal,
// merge and batch. It is for one goroutine.
type pace struct {
	done  int
	cores *Cores // in which the goroutine has a turn; others get theirs when it yields
}

// paceWork is the work after which to yield, in postings: some 50 µs.
const paceWork = 4 << 10

// paceBytes is how many bytes of stored documents are read in the time of a posting.
const paceBytes = 16

// paceTerm is the work of walking to a term or an id, or of writing one.
const paceTerm = 32

// add counts work.
func (p *pace) add(work int) {
	if p.done += work; p.done >= paceWork {
		p.done = 0
		p.cores.yield()
	}
}
