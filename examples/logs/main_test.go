package main

import (
	"context"
	"fmt"
	"os"
)

// Example runs the whole program and checks what it prints.
func Example() {
	dir, err := os.MkdirTemp("", "riffle-logs-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), dir, "message:timeout +level:error", false, os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// message:timeout +level:error: 281 lines, the newest of them
	//   Nov 25 11:53:44 error web-9  timeout of the store
	//   Nov 25 11:49:27 error web-5  timeout of the store
	//   Nov 25 11:39:36 error web-1  timeout of the store
	//   Nov 25 11:02:29 error web-5  timeout of the store
	//   Nov 25 10:21:50 error web-9  timeout of the store
	// by day (# an error, - another line; one sign for two)
	//   Nov 18   26 #############
	//   Nov 19   35 #################
	//   Nov 20   34 #################
	//   Nov 21   37 ##################
	//   Nov 22   44 ######################
	//   Nov 23   44 ######################
	//   Nov 24   42 #####################
	//   Nov 25   19 #########
	// hosts with most: web-4 36 web-1 35 web-3 33
}
