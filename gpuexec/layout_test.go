package gpuexec

import (
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestLayout compares the structs of this package with the offsets and sizes that layout.cuh
// states, and lets its compilers check the same structs.
func TestLayout(t *testing.T) {
	types := map[string]reflect.Type{
		"Extent": reflect.TypeFor[devExtent](), "Head": reflect.TypeFor[devHead](), "List": reflect.TypeFor[devList](), "Flattening": reflect.TypeFor[devFlattening](),
		"Table": reflect.TypeFor[devTable](), "Term": reflect.TypeFor[devTerm](), "Node": reflect.TypeFor[devNode](), "Step": reflect.TypeFor[devStep](), "Part": reflect.TypeFor[devPart](),
		"Query": reflect.TypeFor[devQuery](), "State": reflect.TypeFor[devState](), "Item": reflect.TypeFor[devItem](),
		"Queue": reflect.TypeFor[devQueue](), "Range": reflect.TypeFor[devRange](), "Move": reflect.TypeFor[devMove](),
		"Slice": reflect.TypeFor[devSlice](), "Fetch": reflect.TypeFor[devFetch](), "Piece": reflect.TypeFor[devPiece](), "Window": reflect.TypeFor[devWindow](),
		"Batch": reflect.TypeFor[devBatch](),
	}
	text, err := os.ReadFile("kernels/layout.cuh")
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`(?m)^AT\((\w+), (\w+), (\d+)\);$`)
	fields := map[string]int{}
	for _, m := range at.FindAllStringSubmatch(string(text), -1) {
		typ, ok := types[m[1]]
		if !ok {
			t.Errorf("layout.go has no %s", m[1])
			continue
		}
		fields[m[1]]++
		name := camel(m[2])
		f, ok := typ.FieldByName(name)
		if !ok {
			t.Errorf("%v has no field %s", typ, name)
		} else if strconv.Itoa(int(f.Offset)) != m[3] {
			t.Errorf("%v.%s is at %d; layout.cuh says %s", typ, name, f.Offset, m[3])
		}
	}
	size := regexp.MustCompile(`(?m)^SIZE\((\w+), (\d+)\);$`)
	sized := 0
	for _, m := range size.FindAllStringSubmatch(string(text), -1) {
		sized++
		if typ := types[m[1]]; typ != nil && strconv.Itoa(int(typ.Size())) != m[2] {
			t.Errorf("%v has %d bytes; layout.cuh says %s", typ, typ.Size(), m[2])
		}
	}
	if sized != len(types) {
		t.Errorf("layout.cuh states %d sizes, of %d structs", sized, len(types))
	}
	for name, typ := range types {
		want := typ.NumField()
		if _, padded := typ.FieldByName("unused"); padded {
			want--
		}
		if fields[name] != want {
			t.Errorf("layout.cuh states %d offsets of %s, which has %d fields", fields[name], name, want)
		}
	}
}

// camel converts a C name into a Go name.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}
