package invert

import (
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestLayout compares the structs and sizes of this package with those that layout.cuh states, and
// lets the compilers of layout.cuh check them.
func TestLayout(t *testing.T) {
	types := map[string]reflect.Type{"Piece": reflect.TypeFor[devPiece](), "Args": reflect.TypeFor[devArgs]()}
	sizes := map[string]int{"Piece": pieceBytes, "Args": argsBytes, "Record": recordBytes, "Entry": entryBytes, "Whole": wholeBytes, "Node": nodeBytes, "Chain": chainBytes}
	text, err := os.ReadFile("layout.cuh")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^AT\((\w+), (\w+), (\d+)\);$`).FindAllStringSubmatch(string(text), -1) {
		fields[m[1]]++
		words := strings.Split(m[2], "_")
		for i, w := range words[1:] {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
		if f, ok := types[m[1]].FieldByName(strings.Join(words, "")); !ok || strconv.Itoa(int(f.Offset)) != m[3] {
			t.Errorf("layout.cuh has %s.%s at %s, layout.go at %d (%v)", m[1], m[2], m[3], f.Offset, ok)
		}
	}
	for name, typ := range types {
		want := 0
		for i := range typ.NumField() {
			if typ.Field(i).Name != "_" {
				want++
			}
		}
		if fields[name] != want || int(typ.Size()) != sizes[name] {
			t.Errorf("layout.cuh states %d offsets of %s, which has %d fields and %d bytes", fields[name], name, want, typ.Size())
		}
	}
	stated := regexp.MustCompile(`(?m)^SIZE\((\w+), (\d+)\);$`).FindAllStringSubmatch(string(text), -1)
	for _, m := range stated {
		if strconv.Itoa(sizes[m[1]]) != m[2] {
			t.Errorf("%s has %s bytes in layout.cuh and %d in layout.go", m[1], m[2], sizes[m[1]])
		}
	}
	if len(stated) != len(sizes) {
		t.Errorf("layout.cuh states %d sizes of %d", len(stated), len(sizes))
	}
}
