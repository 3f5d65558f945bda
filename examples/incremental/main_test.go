package main

import (
	"context"
	"fmt"
	"os"
)

// Example runs the whole program and checks what it prints.
func Example() {
	dir, err := os.MkdirTemp("", "riffle-incremental-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), dir, os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Three notes:
	//   call  Call the dentist about Monday
	//   book  Bring the book back on Monday
	// One done, one changed:
	//   milk  Buy milk on Monday
	//   book  Bring the book back on Monday
	// One deleted:
	//   milk  Buy milk on Monday
	// The snapshot still has:
	//   call  Call the dentist about Monday
	//   book  Bring the book back on Monday
	// 2 documents, 3 to be merged away; after Compact 2 and 0
}
