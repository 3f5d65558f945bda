//go:build !cuda

package device

import (
	"errors"
	"strings"
	"testing"
)

func TestNoDriver(t *testing.T) {
	_, err := Open(0, Options{})
	if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "without the tag cuda") {
		t.Errorf("Open: %v", err)
	}
	if _, err := List(); !errors.Is(err, ErrNoDevice) {
		t.Errorf("List: %v", err)
	}
}
