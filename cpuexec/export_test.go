package cpuexec

// SetExactPostings changes exactPostings and returns what it was.
func SetExactPostings(n int) (old int) {
	old, exactPostings = exactPostings, n
	return old
}
