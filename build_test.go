package riffle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// small makes blocks of few documents.
func (o *BuildOptions) small() *BuildOptions {
	o.private.blockBytes = 2000
	return o
}

// corporaFile returns a file of the corpora, or skips.
func corporaFile(b testing.TB, name string) string {
	dir := os.Getenv("RIFFLE_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "shared", "corpora")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		b.Skipf("no corpora: set RIFFLE_CORPORA (%v)", err)
	}
	return path
}

// jsonLines writes documents as files of JSON lines.
func jsonLines(t testing.TB, docs []modelPut, files int) []string {
	t.Helper()
	var paths []string
	for part := range slices.Chunk(docs, (len(docs)+files-1)/files) {
		var b bytes.Buffer
		for _, d := range part {
			m := maps.Clone(map[string]any(d.doc))
			m["id"] = d.id
			line, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(append(line, '\n'))
		}
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.jsonl", len(paths)))
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

type modelPut struct {
	id  string
	doc modelDoc
}

// buildModel makes documents of which one in twenty replaces an earlier one.
func buildModel(rng *rand.Rand, n int) (docs []modelPut, final model) {
	r := modelQueries{rng}
	final = model{}
	for i := range n {
		id := fmt.Sprintf("d%d", i)
		if i > 0 && rng.IntN(20) == 0 {
			id = fmt.Sprintf("d%d", rng.IntN(i))
		}
		d := r.doc()
		docs, final[id] = append(docs, modelPut{id, d}), d
	}
	return docs, final
}

func yieldAll(docs []modelPut) Documents {
	return func(yield func(Document, error) bool) {
		for _, d := range docs {
			if !yield(Document{ID: d.id, Fields: d.doc}, nil) {
				return
			}
		}
	}
}

// TestBuildIsApply: an index from Build has the documents, the statistics and the answers of one
// from Apply, whatever the number of workers and segments, and it is complete.
func TestBuildIsApply(t *testing.T) {
	docs, final := buildModel(rand.New(rand.NewPCG(11, 11)), 1500)
	world, err := tuning{}.open(worldDir, newCrashFS())
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	var b Batch
	for _, d := range docs {
		b.Put(d.id, map[string]any(d.doc))
	}
	if err := errors.Join(world.Apply(ctx, &b), world.Compact(ctx)); err != nil {
		t.Fatal(err)
	}
	files := jsonLines(t, docs, 3)
	for i, workers := range []int{1, 2, 16} {
		for _, source := range []Source{yieldAll(docs), JSONLines{Files: files}} {
			dir := filepath.Join(t.TempDir(), "index")
			o := (&BuildOptions{Workers: workers, Index: Options{Schema: world.Schema()}}).small()
			o.private.runBytes = []int64{0, 30 << 10, 60 << 10}[i]
			res, err := Build(ctx, dir, source, o)
			if err != nil {
				t.Fatal(err)
			}
			if res.Docs != len(docs) || res.Replaced != len(docs)-len(final) || o.private.runBytes > 0 && res.Segments < 3 {
				t.Errorf("%+v, want %d documents, %d replaced, some segments", res, len(docs), len(docs)-len(final))
			}
			e, err := Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			requireBuilt(t, e, world, final)
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// requireBuilt compares an index with the model, and after a compaction with one from Apply.
func requireBuilt(t *testing.T, e, world *Engine, final model) {
	t.Helper()
	s, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sameDocuments(s, final), checkAll(e)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := e.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := e.Stats()
	if err != nil {
		t.Fatal(err)
	}
	want, err := world.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if got.Docs != want.Docs || !slices.Equal(got.Fields, want.Fields) {
		t.Fatalf("%d documents, fields %+v, want %d, %+v", got.Docs, got.Fields, want.Docs, want.Fields)
	}
	bare := e.Schema().Positions == PositionsNone // then phrases are refused
	rng := rand.New(rand.NewPCG(12, 12))
	for range 60 {
		q := modelQueries{rng}.query(3)
		opts := &SearchOptions{K: 20, ExactTotal: true}
		a, err := e.Search(ctx, q, opts)
		if err != nil && bare && strings.Contains(err.Error(), "without positions") {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := world.Search(ctx, q, opts)
		if err != nil {
			t.Fatal(err)
		}
		if a.Total != b.Total || len(a.Hits) != len(b.Hits) {
			t.Fatalf("%v: %d hits of %d, want %d of %d", q, len(a.Hits), a.Total, len(b.Hits), b.Total)
		}
		for i := range a.Hits {
			if a.Hits[i].Score != b.Hits[i].Score {
				t.Fatalf("%v: hit %d scores %v, want %v", q, i, a.Hits[i].Score, b.Hits[i].Score)
			}
		}
	}
}

// TestBuildSameWhateverWorkers: the same source gives the same segments, byte for byte, and as many
// tables, with any number of workers.
func TestBuildSameWhateverWorkers(t *testing.T) {
	docs, _ := buildModel(rand.New(rand.NewPCG(13, 13)), 1200)
	files := jsonLines(t, docs, 4)
	var want string
	tables := 0
	for _, workers := range []int{1, 2, 3, 16} {
		mem := newCrashFS()
		o := (&BuildOptions{Workers: workers}).small()
		o.Index.private.store.FS = mem
		o.Index.private.tableBytes = 5000
		o.private.runBytes = 30 << 10
		if _, err := Build(ctx, worldDir, JSONLines{Files: files, Readers: 2}, o); err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		err := eachKey(mem, worldDir, func(key, value []byte) error {
			if key[0] == 'S' {
				fmt.Fprintf(&all, "%x %x\n", key, value)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want, tables = all.String(), sstables(t, mem)
		}
		if n := sstables(t, mem); n != tables || n < 40 {
			t.Errorf("with %d workers there are %d tables, want %d", workers, n, tables)
		}
		if all.String() != want || len(want) < 10_000 {
			t.Fatalf("with %d workers the segments have other bytes", workers)
		}
	}
}

// sstables counts Pebble's tables.
func sstables(t *testing.T, fsys vfs.FS) int {
	t.Helper()
	names, err := fsys.List(worldDir)
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".sst") }))
}

// TestBuildTableFails: whichever table cannot be written, with one worker or several, the build
// ends with that error, which names the segment, and leaves no file behind. Another build succeeds.
func TestBuildTableFails(t *testing.T) {
	docs, final := buildModel(rand.New(rand.NewPCG(16, 16)), 300)
	for i, bad := range []string{"compressed", "run0", "run1", "run5", "behind", "plain"} {
		for n, on := range []errorfs.OpKind{errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpFileSyncData} {
			if brief() && n != i%3 {
				continue
			}
			mem := newCrashFS()
			inj := errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == on && strings.HasSuffix(op.Path, "."+bad) {
					return errorfs.ErrInjected
				}
				return nil
			})
			o := (&BuildOptions{Workers: 1 + i}).small()
			o.Index.private.store.FS = errorfs.Wrap(mem, inj)
			o.Index.private.tableBytes = 3000
			_, err := Build(ctx, worldDir, yieldAll(docs), o)
			if !errors.Is(err, errorfs.ErrInjected) || !strings.HasPrefix(err.Error(), "riffle: build: ") || !strings.Contains(err.Error(), "segment 1") {
				t.Errorf("%v of %s fails: %v", on, bad, err)
			}
			if names, err := mem.List(worldDir + "/building"); err != nil || len(names) > 0 {
				t.Errorf("%v of %s fails: files left behind: %q, %v", on, bad, names, err)
			}
			if what, err := inspectBuild(mem, docs, final); what != "unfinished" || err != nil {
				t.Errorf("%v of %s fails: it leaves %s, %v", on, bad, what, err)
			}
		}
	}
}

// TestBuildBadInput: a document that cannot be indexed ends the build and is named, or it is
// skipped and counted, in the order of the input.
func TestBuildBadInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	text := "{\"id\":1,\"a\":\"one\"}\n{\"id\":2,\n\n{\"id\":3,\"k\":5}\n{\"id\":\"" + strings.Repeat("x", MaxIDBytes+1) + "\"}\n{\"id\":4,\"a\":\"four\"}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	schema := &Schema{Fields: map[string]Field{"k": {Type: FieldKeyword}}}
	want := []string{
		path + ":2:9: the line ends where a name in double quotes should be",
		path + ":4: document \"3\": field \"k\": the schema wants keyword, not number",
		path + ":5: document \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\": an id of 1025 bytes, at most 1024 are allowed",
	}
	dir := filepath.Join(t.TempDir(), "index")
	_, err := Build(ctx, dir, JSONLines{Files: []string{path}}, &BuildOptions{Index: Options{Schema: schema}})
	if err == nil || err.Error() != want[0] {
		t.Fatalf("got %v, want %s", err, want[0])
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a first block of bad documents left something behind: %v", err)
	}
	var got []string
	var refused []error
	res, err := Build(ctx, dir, JSONLines{Files: []string{path}}, &BuildOptions{Index: Options{Schema: schema}, Bad: func(err error) error {
		got, refused = append(got, err.Error()), append(refused, err)
		return nil
	}})
	if err != nil || res.Docs != 2 || res.Bad != 3 || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, faults %q", res, err, got)
	}
	var in *InputError
	var de *DocumentError
	if !errors.As(refused[1], &in) || in.Line != 4 || !errors.As(refused[1], &de) || de.Field != "k" {
		t.Errorf("%#v", refused[1])
	}
	docs := Documents(func(yield func(Document, error) bool) {
		_ = yield(Document{ID: "a", Value: 5}, nil) && yield(Document{ID: "b", Fields: map[string]any{"x": 1}}, nil)
	})
	if _, err := Build(ctx, filepath.Join(t.TempDir(), "i"), docs, nil); !errors.As(err, &de) || de.ID != "a" {
		t.Errorf("a document that is none: %v", err)
	}
}

// TestBuildRefuses: Build does not replace an index that has documents. Only the next build, which
// starts over, can open an unfinished one.
func TestBuildRefuses(t *testing.T) {
	docs, final := buildModel(rand.New(rand.NewPCG(14, 14)), 400)
	mem := newCrashFS()
	o := (&BuildOptions{}).small()
	o.Index.private.store.FS = mem
	o.private.runBytes = 50 << 10
	broken := errors.New("no more")
	o.Index.Schema = &Schema{Analyzer: "english"}
	n := 0
	_, err := Build(ctx, worldDir, Documents(func(yield func(Document, error) bool) {
		yieldAll(docs)(yield)
		yield(Document{ID: "bad", Value: 1}, nil)
	}), &BuildOptions{Index: o.Index, private: o.private, Bad: func(error) error { return broken }, Progress: func(p BuildProgress) { n = p.Segments }})
	if !errors.Is(err, broken) || n == 0 {
		t.Fatalf("%v after %d segments", err, n)
	}
	opts := &Options{private: o.Index.private}
	if e, err := Open(worldDir, opts); !errors.Is(err, ErrUnfinished) {
		t.Fatalf("open of an unfinished build: %v, %v", e, err)
	}
	o.Index.Schema = nil
	if _, err := Build(ctx, worldDir, yieldAll(docs), o); err != nil {
		t.Fatal(err)
	}
	e, err := Open(worldDir, opts)
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sameDocuments(s, final), checkAll(e)); err != nil {
		t.Error(err)
	}
	s.Close()
	live := e.probe().Store().Manifest().Segments
	if err := errors.Join(e.Close(), noOrphans(mem, live)); err != nil {
		t.Error(err)
	}
	if _, err := Build(ctx, worldDir, yieldAll(docs), o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("build over an index: %v", err)
	}
}

// TestBuildCancel: a build ends soon after its context, with its error, and leaves no goroutine
// working on the directory.
func TestBuildCancel(t *testing.T) {
	docs, _ := buildModel(rand.New(rand.NewPCG(15, 15)), 300)
	for stop := range 5 {
		dir := filepath.Join(t.TempDir(), "index")
		ctx, cancel := context.WithCancel(context.Background())
		o := (&BuildOptions{Workers: 3}).small()
		o.private.runBytes = 30 << 10
		o.Index.private.tableBytes = 4000
		blocks := 0
		o.Progress = func(BuildProgress) {
			if blocks++; blocks == 3*stop+1 {
				cancel()
			}
		}
		endless := Documents(func(yield func(Document, error) bool) {
			for i := 0; ; i++ {
				if !yield(Document{ID: fmt.Sprint(i), Fields: docs[i%len(docs)].doc}, nil) {
					return
				}
			}
		})
		if _, err := Build(ctx, dir, endless, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if _, err := Open(dir, nil); !errors.Is(err, ErrUnfinished) {
			t.Errorf("open: %v", err)
		}
	}
}

// TestBuildEmpty: a build without documents makes an index too.
func TestBuildEmpty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	schema := &Schema{Analyzer: "english"}
	noGPU := &GPUOptions{Required: true, Devices: []int{99}} // a build does not use it
	if _, err := Build(ctx, dir, yieldAll(nil), &BuildOptions{Index: Options{Schema: schema, GPU: noGPU}}); err != nil {
		t.Fatal(err)
	}
	e, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if n, err := e.Count(ctx, All{}); n != 0 || err != nil || e.Schema().Analyzer != "english" {
		t.Errorf("%d documents, %v, analyzer %q", n, err, e.Schema().Analyzer)
	}
}
