package impl

import (
	"slices"
	"testing"
)

func TestEach(t *testing.T) {
	fast, faster, missing, other := true, true, false, true
	Register("p", "faster", &faster)
	Register("p", "fast", &fast)
	Register("p", "missing", &missing)
	Register("q", "other", &other)

	var names []string
	for name := range Each("p") {
		names = append(names, name)
		if faster != (name == "faster") || fast != (name == "fast") || missing || !other {
			t.Errorf("%s: faster %v, fast %v, missing %v, other %v", name, faster, fast, missing, other)
		}
	}
	if want := []string{"faster", "fast", Portable}; !slices.Equal(names, want) {
		t.Errorf("variants %v, want %v", names, want)
	}
	if !faster || !fast || missing || !other {
		t.Error("switches are not as they were")
	}

	restore := Use("p", "fast")
	for range Each("p") {
		break
	}
	if faster || !fast {
		t.Error("a loop that ends early leaves switches behind")
	}
	restore()
	if !faster || !fast {
		t.Error("switches are not as they were")
	}
}

func TestUnknown(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an unknown variant is taken")
		}
	}()
	Use("p", "none")
}
