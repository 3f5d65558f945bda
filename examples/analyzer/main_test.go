package main

import (
	"context"
	"fmt"
	"os"
)

// Example runs the whole program and checks what it prints.
func Example() {
	dir, err := os.MkdirTemp("", "riffle-analyzer-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), dir, os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// bolt m 8 × 40  (screw m 8 x 40)
	//   10021  Hex screw M8x40, stainless
	// SPANNER 13mm  (wrench 13 mm)
	//   20007  Open-end wrench, 13 mm
	// discs M8  (washer m 8)
	//   30115  Washer for M8
	// facade 8x80  (facad 8 x 80)
	//   40002  Façade anchor 8×80
}
