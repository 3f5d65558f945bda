package listcache

import (
	"fmt"
	"testing"
)

func equalPlaced(t *testing.T, got, want []Placed) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Errorf("placed\n%s, want\n%s", g, w)
	}
}
