package riffle

import (
	"errors"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/accelerator"
)

// TestGPUThatCannotBeUsed: what demands a GPU fails with ErrNoDevice, and with the reason why there is none.
func TestGPUThatCannotBeUsed(t *testing.T) {
	const why = "gpu 0: memory is short"
	ix := newIndex(t, &Options{GPU: &GPUOptions{}, private: privateOptions{
		accelerator: func(accelerator.Options) (accelerator.Accelerator, error) { return nil, errors.New(why) },
	}})
	_, searched := ix.Search(t.Context(), Match{Field: "t", Text: "w1"}, &SearchOptions{Processor: ProcessorGPU})
	for _, err := range []error{searched, ix.Warm(t.Context(), nil, nil)} {
		if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), why) {
			t.Errorf("the error is %v", err)
		}
	}
}
