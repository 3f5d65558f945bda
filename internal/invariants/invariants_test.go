package invariants

import "testing"

func TestCheck(t *testing.T) {
	Check(true, "unused")
	defer func() {
		if got, want := recover(), "BUG: 2 is above 1"; got != want {
			t.Errorf("recovered %v, want %q", got, want)
		}
	}()
	Check(false, "%d is above %d", 2, 1)
}
