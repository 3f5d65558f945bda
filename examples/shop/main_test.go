package main

import (
	"context"
	"fmt"
	"os"
)

// Example runs the whole program and checks what it prints.
func Example() {
	dir, err := os.MkdirTemp("", "riffle-shop-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), dir, choices{words: "boots", brand: "Apex", price: "50-100", sort: "price"}, os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 17 products
	//   Sturdy boots   Apex   53.45  1.4 stars
	//   Sturdy boots   Apex   56.95  1.7 stars
	//   Sturdy boots   Apex   57.76  1.8 stars
	//   Warm boots     Apex   58.63  4.1 stars
	//   Red boots      Apex   68.79  2 stars
	// brand:  Nord (19)  Acme (18)  Apex (17)
	// category:  Clothes (17)  Clothes/Boots (17)
	// price:  0 (1)  50 (17)  100 (4)
	// from 53.45 to 99.54, 81.64 on average
}
