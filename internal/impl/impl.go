// Package impl knows which functions have variants (assembly for one kind of processor, portable
// Go), so that tests run once for each:
//
//	for variant := range impl.Each("postings") {
//		t.Run(variant, func(t *testing.T) { ... })
//	}
//
// It is crypto/internal/impl of the standard library for this module. A package with variants has a
// switch (a bool) for each except the portable one, and uses the first that is on. For whole
// programs, use GODEBUG=cpu.avx512f=off, with cpu.avx2=off if needed, or the build tag purego.
package impl

import (
	"fmt"
	"iter"
)

// Portable names the variant that is used when all switches are off.
const Portable = "portable"

type variant struct {
	pkg, name string
	on        *bool
}

var variants []variant

// Register registers a variant, if its switch is on. The switch must be on exactly if this
// processor can run the variant. A package registers its variants in init, the preferred one first.
func Register(pkg, name string, on *bool) {
	if *on {
		variants = append(variants, variant{pkg, name, on})
	}
}

// Names returns the variants of a package that this processor can run, the preferred one
// first and Portable last.
func Names(pkg string) []string {
	var names []string
	for _, v := range variants {
		if v.pkg == pkg {
			names = append(names, v.name)
		}
	}
	return append(names, Portable)
}

// Use makes a package use one variant only, until restore is called. Nothing else may use the
// package meanwhile.
func Use(pkg, name string) (restore func()) {
	known := name == Portable
	var before []variant
	for _, v := range variants {
		if v.pkg != pkg {
			continue
		}
		if *v.on {
			before = append(before, v)
		}
		*v.on = v.name == name
		known = known || *v.on
	}
	if !known {
		panic(fmt.Sprintf("BUG: package %s has no variant %q", pkg, name))
	}
	return func() {
		for _, v := range variants {
			if v.pkg == pkg {
				*v.on = false
			}
		}
		for _, v := range before {
			*v.on = true
		}
	}
}

// Each yields the name of each variant of Names while it is in use.
func Each(pkg string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range Names(pkg) {
			if !use(pkg, name, yield) {
				return
			}
		}
	}
}

func use(pkg, name string, yield func(string) bool) bool {
	defer Use(pkg, name)()
	return yield(name)
}
