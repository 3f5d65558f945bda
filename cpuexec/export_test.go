package cpuexec

// SetExactPostings changes exactPostings and returns what it was.
func SetExactPostings(n int) (old int) {
	old, exactPostings = exactPostings, n
	return old
}

// Occupy makes a pool think that n more goroutines are at work.
func (p *Pool) Occupy(n int) { p.running.Add(int32(n)) }
