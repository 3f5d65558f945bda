package main

import (
	"context"
	"fmt"
	"os"
)

// Example runs the whole program and checks what it prints.
func Example() {
	show(choices{words: "boots", brand: "Apex", price: "50-100", sort: "price"})
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

// The nearest come first. The facet of distances also counts the stores that are too far away.
func Example_near() {
	show(choices{words: "warm boots", near: "52.56,13.41", within: 10})
	// Output:
	// 7 products
	//   Warm boots     Nord  103.47  1.5 stars  Pankow, 1.1 km
	//   Warm boots     Acme  107.97  1.6 stars  Pankow, 1.1 km
	//   Warm boots     Nord  131.01  3.2 stars  Pankow, 1.1 km
	//   Warm boots     Nord  109.06  1.5 stars  Pankow, 1.1 km
	//   Warm boots     Apex   91.87  4.3 stars  Pankow, 1.1 km
	// brand:  Nord (4)  Acme (2)  Apex (1)
	// category:  Clothes (7)  Clothes/Boots (7)
	// price:  50 (2)  100 (5)
	// distance:  below 5 km (7)  5 to 15 km (4)  farther (14)
	// from 89.35 to 131.01, 107.59 on average
}

// With another order distances are still printed.
func Example_nearBySort() {
	show(choices{words: "boots", brand: "Apex", near: "52.56,13.41", within: 10, sort: "price"})
	// Output:
	// 10 products
	//   Red boots      Apex   46.87  1.8 stars  Mitte, 4.2 km
	//   Sturdy boots   Apex   53.45  1.4 stars  Mitte, 4.2 km
	//   Sturdy boots   Apex   56.95  1.7 stars  Mitte, 4.2 km
	//   Red boots      Apex   68.79  2 stars  Pankow, 1.1 km
	//   Red boots      Apex   78.92  3.2 stars  Mitte, 4.2 km
	// brand:  Nord (17)  Apex (10)  Acme (9)
	// category:  Clothes (10)  Clothes/Boots (10)
	// price:  0 (1)  50 (9)
	// distance:  below 5 km (10)  5 to 15 km (6)  farther (6)
	// from 46.87 to 99.54, 77.50 on average
}

// What cannot be is an error.
func Example_nearWhat() {
	show(choices{within: 5})
	show(choices{near: "Berlin"})
	show(choices{near: "52.56,13.41", within: -1})
	// Output:
	// -within goes with -near: from where?
	// -near: "Berlin" is neither a latitude and a longitude, such as 52.52,13.405, nor a geohash
	// riffle: WithinDistance.Metres: a distance is a number of metres from 0 on, not -1000
}

func show(c choices) {
	dir, err := os.MkdirTemp("", "riffle-shop-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), dir, c, os.Stdout); err != nil {
		fmt.Println(err)
	}
}
