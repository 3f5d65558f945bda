package riffle_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestImports enforces which packages of riffle each package may import, and which may import
// Pebble or what is for the command alone. Tests may import more packages.
func TestImports(t *testing.T) {
	const module = "github.com/riffle-search/riffle/"
	allowed := map[string][]string{
		"analysis":                      {"internal/impl"},
		"analysis/bleve":                {"analysis", "analysis/lang"},
		"analysis/lang":                 {"analysis"},
		"columns":                       {"internal/corrupt", "internal/geo", "internal/impl"},
		"postings":                      {"internal/corrupt", "internal/impl"},
		"proximity":                     {},
		"blockmax":                      {"postings", "proximity"}, // for the list of a Term, and for a Node
		"segment":                       {"postings", "blockmax", "columns", "internal/corrupt", "internal/dictionary", "internal/format", "internal/onpair"},
		"store":                         {"internal/corrupt", "internal/format", "store/wal"},
		"store/wal":                     {"internal/corrupt", "internal/format"},
		"cpuexec":                       {"columns", "postings", "proximity", "blockmax", "internal/corrupt", "internal/geo", "internal/impl", "internal/invariants", "internal/shapes"},
		"gpuexec":                       {"postings", "blockmax", "gpuexec/demand", "gpuexec/device", "gpuexec/listcache", "internal/invariants"},
		"gpuexec/demand":                {"postings", "blockmax", "gpuexec/listcache"},
		"gpuexec/invert":                {"gpuexec/device", "segment"},
		"gpuexec/listcache":             {},
		"gpuexec/partition":             {"postings", "blockmax"},
		"internal/aggregate":            {"columns", "cpuexec", "internal/geo", "internal/shapes"},
		"internal/accelerator":          {"gpuexec", "gpuexec/device", "gpuexec/listcache", "internal/dispatch", "segment"},
		"internal/corrupt":              {},
		"internal/dispatch":             {"blockmax", "gpuexec/device", "postings"},
		"internal/datemath":             {},
		"internal/dictionary":           {},
		"internal/language":             {},
		"internal/document":             {"analysis", "columns", "internal/corrupt", "internal/format", "internal/geo", "segment"},
		"internal/format":               {"internal/corrupt"},
		"internal/freeport":             {},
		"internal/function":             {"columns", "internal/geo"},
		"internal/formats":              {"internal/format", "internal/hook"},
		"internal/geo":                  {},
		"internal/cache":                {"blockmax", "columns", "postings", "segment"},
		"internal/bulk":                 {"internal/accelerator", "internal/document", "internal/jsonl", "internal/live", "segment"},
		"internal/live":                 {"analysis", "blockmax", "columns", "internal/cache", "internal/corrupt", "internal/document", "internal/format", "internal/plan", "postings", "segment", "store"},
		"internal/plan":                 {"analysis", "blockmax", "columns", "cpuexec", "internal/cache", "internal/datemath", "internal/dictionary", "internal/document", "internal/function", "internal/geo", "internal/shapes", "postings", "proximity", "segment"},
		"internal/memlimit":             {},
		"internal/onpair":               {"internal/corrupt"},
		"internal/plainjson":            {},
		"internal/search":               {"blockmax", "columns", "cpuexec", "internal/accelerator", "internal/aggregate", "internal/dispatch", "internal/geo", "internal/live", "internal/plan"},
		"internal/gpu":                  {"blockmax", "gpuexec", "gpuexec/demand", "gpuexec/device", "gpuexec/invert", "gpuexec/listcache", "gpuexec/partition", "internal/accelerator", "internal/dispatch"},
		"internal/gpu/link":             {"internal/accelerator"},
		"internal/hook":                 {"cpuexec", "internal/shapes", "store"},
		"internal/highlight":            {},
		"internal/shapes":               {"columns", "internal/geo"},
		"internal/impl":                 {},
		"internal/collection":           {"analysis", "blockmax", "internal/jsonl", "internal/trec", "postings", "segment"},
		"internal/gov2":                 {"blockmax", "internal/collection", "postings"},
		".":                             {"analysis", "blockmax", "columns", "cpuexec", "internal/accelerator", "internal/aggregate", "internal/bulk", "internal/datemath", "internal/document", "internal/corrupt", "internal/format", "internal/function", "internal/geo", "internal/gpu/link", "internal/highlight", "internal/hook", "internal/language", "internal/live", "internal/memlimit", "internal/plainjson", "internal/plan", "internal/search", "internal/shapes", "postings", "proximity", "segment", "store"},
		"compat/bleve":                  {"analysis", "analysis/bleve", "internal/geo", "internal/hook", "internal/language", "internal/shapes"},                                                                                                                                                                                                                                     // besides the root
		"cmd/riffle":                    {"compat/bleve", "analysis", "analysis/bleve", "analysis/lang", "client", "cpuexec", "examples/stdlib/library", "internal/freeport", "internal/hook", "internal/jsonl", "internal/memlimit", "internal/trec", "server", "cluster", "cluster/access", "cluster/copies", "cluster/embedded", "cluster/node", "cmd/riffle/internal/clustered"}, // besides the root
		"cmd/riffle/internal/clustered": {"analysis", "client", "cluster", "cluster/oplog", "cluster/remote", "cluster/scatter", "cluster/topology", "cluster/writer", "server"},
		"client":                        {},                                           // besides the root
		"server":                        {"analysis", "client", "internal/plainjson"}, // besides the root
		"examples/analyzer":             {"analysis"},
		"examples/concurrent":           {},
		"examples/incremental":          {},
		"examples/stdlib":               {"examples/stdlib/library"},
		"examples/stdlib/library":       {"analysis"},
		"internal/torture":              {"cpuexec", "internal/corrupt", "internal/hook", "store"},
	}
	mayUsePebble := []string{"store", "store/wal", "internal/torture"} // the last two only its file systems
	// What only the command and examples need: a program that imports riffle must not have to
	// download it, not even for the tests of riffle's packages (docs/decisions/0028).
	ofPrograms := []string{"github.com/spf13/", "github.com/schollz/", "golang.org/x/term"}
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata") {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		room := filepath.ToSlash(filepath.Dir(path))
		test := strings.HasSuffix(path, "_test.go")
		seen[room] = seen[room] || !test
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if room != "cmd/riffle" && !strings.HasPrefix(room, "examples/") && slices.ContainsFunc(ofPrograms, func(p string) bool { return strings.HasPrefix(name, p) }) {
				t.Errorf("%s imports %s, which only programs may", path, name)
			}
			if test {
				continue
			}
			if strings.HasPrefix(name, "github.com/cockroachdb/pebble/") && !slices.Contains(mayUsePebble, room) {
				t.Errorf("%s imports %s, which only %v may", path, name, mayUsePebble)
			}
			ours, ok := strings.CutPrefix(name, module)
			if room == "internal/gpu/link" && ours == "internal/gpu" && strings.HasSuffix(path, "_cuda.go") {
				continue // it has the tag cuda
			}
			if rooms, limited := allowed[room]; ok && limited && !slices.Contains(rooms, ours) {
				t.Errorf("%s imports %s; %s may import only %v", path, ours, room, rooms)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range allowed {
		if !seen[room] {
			t.Errorf("room %s is gone; the table is out of date", room)
		}
	}
}
