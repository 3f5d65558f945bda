package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/format"
	"github.com/riffle-search/riffle/store"
)

const fixtures = "../../testdata/formats"

// TestFormats opens the index of every combination of formats that was ever released. It searches,
// checks, changes, merges and compacts it. The compacted index has the newest formats, and gives
// the same answers as an index of this build.
func TestFormats(t *testing.T) {
	dirs, err := os.ReadDir(fixtures)
	if err != nil {
		t.Fatal(err)
	}
	newest := false
	for _, d := range dirs {
		f := filepath.Join(fixtures, d.Name())
		newest = newest || text(t, filepath.Join(f, "versions")) == format.Written()
		t.Run(d.Name(), func(t *testing.T) {
			readFixture(t, f)
			changeFixture(t, f)
			mergeFixture(t, f)
			compactFixture(t, f)
		})
	}
	if !newest {
		t.Errorf("no index in %s is of the formats of today:\n%s"+
			"Write one with `go run ./internal/formats testdata/formats/NAME`, and commit it; see CONTRIBUTING.md.", fixtures, format.Written())
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// copied returns a copy of the index, which the test may change.
func copied(t *testing.T, fixture string) string {
	t.Helper()
	return copiedIndex(t, filepath.Join(fixture, "index"))
}

// copiedIndex returns a copy of an index.
func copiedIndex(t *testing.T, index string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "index")
	if err := os.CopyFS(dir, os.DirFS(index)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, dir string, o riffle.Options) *riffle.Engine {
	t.Helper()
	o.Rank = rank
	e, err := riffle.Open(dir, &o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// unmerged are options without background merges.
var unmerged = riffle.Options{Merge: riffle.MergeOptions{Disabled: true}}

func check(t *testing.T, e *riffle.Engine) {
	t.Helper()
	if err := e.Check(ctx, func(err error) { t.Errorf("check: %v", err) }); err != nil {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func stats(t *testing.T, e *riffle.Engine) *riffle.Stats {
	t.Helper()
	st, err := e.Stats()
	must(t, err)
	return st
}

// requirePosition compares the position of an index with that of its fixture: none before log
// record 2.
func requirePosition(t *testing.T, f string, e *riffle.Engine) {
	t.Helper()
	want := ""
	if strings.Contains(text(t, filepath.Join(f, "versions")), format.Info.What) {
		want = position
	}
	if got, err := e.Position(); err != nil || string(got) != want {
		t.Errorf("position %q, %v, want %q", got, err, want)
	}
}

// TestSealedPosition reads the position of the sealed part from the manifest. A position in the log
// hides it; without a log it would be that of the index.
func TestSealedPosition(t *testing.T) {
	fixtures, err := filepath.Glob(filepath.Join(fixtures, "*", "versions"))
	must(t, err)
	found := 0
	for _, path := range fixtures {
		if !strings.Contains(text(t, path), format.Info.What) {
			continue
		}
		found++
		s, err := store.Open(filepath.Join(filepath.Dir(path), "index"), &store.Options{ReadOnly: true})
		must(t, err)
		version := "\x01"
		if strings.Contains(text(t, path), "index info 2") {
			version = "\x02"
		}
		if want, got := version+"\x08"+sealedPosition, string(s.Manifest().Info); got != want {
			t.Errorf("%s: the manifest has %q, want %q", path, got, want)
		}
		must(t, s.Close())
	}
	if found == 0 {
		t.Error("no index has a position")
	}
}

// readFixture opens the index read-only, which changes nothing, and for writing, and runs the
// queries that were run when it was written.
func readFixture(t *testing.T, f string) {
	want := text(t, filepath.Join(f, "answers"))
	for _, readOnly := range []bool{true, false} {
		dir := copied(t, f)
		before := filesOf(t, dir)
		o := unmerged
		o.ReadOnly = readOnly
		e := open(t, dir, o)
		st := stats(t, e)
		orders := map[riffle.DocOrder]bool{}
		for _, s := range st.Segments {
			orders[s.Order] = true
		}
		if len(st.Segments) < 6 || len(orders) != 3 || st.Deleted == 0 || st.LogRecords == 0 {
			t.Errorf("the index lacks something: %+v", st)
		}
		got, err := ask(e, 12)
		if err != nil || got != want {
			t.Errorf("read-only %v: %v; answers\n%s\nwant\n%s", readOnly, err, got, want)
		}
		if err := checkDocuments(e); err != nil {
			t.Errorf("read-only %v: %v", readOnly, err)
		}
		requirePosition(t, f, e)
		check(t, e)
		must(t, e.Close())
		if readOnly && !slices.Equal(before, filesOf(t, dir)) {
			t.Error("an Open to read changed files")
		}
	}
}

// filesOf returns the names and contents of all files except the empty lock.
func filesOf(t *testing.T, dir string) (all []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, path+": "+text(t, path))
		}
		return err
	}))
	return all
}

// changeFixture adds, replaces and deletes documents of every segment and of the log.
func changeFixture(t *testing.T, f string) {
	dir := copied(t, f)
	e := open(t, dir, unmerged)
	var b riffle.Batch
	gone, again, total := 0, 0, stats(t, e).Docs
	live(func(n, state int) {
		switch n % 11 {
		case 3:
			b.Delete(id(n))
			gone++
		case 5:
			b.Put(id(n), map[string]any{"body": "afresh", "title": id(n)})
			again++
		}
	})
	b.Put("new", map[string]any{"body": "afresh and new", "of later": true})
	must(t, e.Apply(ctx, &b))
	for range 2 {
		n, err := e.Count(ctx, riffle.Match{Field: "body", Text: "afresh"})
		if st := stats(t, e); err != nil || n != again+1 || st.Docs != total-uint64(gone)+1 {
			t.Errorf("%d documents changed and %d in all, %v, want %d and %d", n, st.Docs, err, again+1, int(total)-gone+1)
		}
		if _, err := e.Get(ctx, id(3)); !errors.Is(err, riffle.ErrNotFound) {
			t.Errorf("a document that was deleted: %v", err)
		}
		requirePosition(t, f, e)
		check(t, e)
		must(t, e.Close())
		e = open(t, dir, unmerged)
	}
	must(t, e.Close())
}

// mergeFixture makes background merges merge the segments: all are in one tier.
func mergeFixture(t *testing.T, f string) {
	merged := make(chan struct{}, 1)
	o := riffle.Options{Merge: riffle.MergeOptions{SegmentsPerTier: 2}, Listener: &riffle.Listener{Merged: func(riffle.MergeEvent) {
		select {
		case merged <- struct{}{}:
		default:
		}
	}}}
	dir := copied(t, f)
	e := open(t, dir, o)
	<-merged
	for _, s := range stats(t, e).Segments {
		if s.Sealed && int64(s.Format) != int64(format.Segment.Newest) {
			t.Errorf("the merge wrote %+v, want format %d", s, format.Segment.Newest)
		}
	}
	if err := checkDocuments(e); err != nil {
		t.Error(err)
	}
	requirePosition(t, f, e)
	check(t, e)
	must(t, e.Close())
}

// compactFixture compacts the index, with all codecs, and compares it with a newly written one.
func compactFixture(t *testing.T, f string) {
	want := fresh()
	features := []string{"best pairs behind the blocks of an extent", "columns"} // at least that of versions
	v := text(t, filepath.Join(f, "versions"))
	hasPlaces := strings.Contains(v, "schema 6")
	if hasPlaces {
		features = append(features, "geo points")
	}
	if !strings.Contains(v, "schema 5") && !hasPlaces {
		want, _, _ = strings.Cut(want, rangeAnswers)
	}
	if strings.Contains(v, "schema 3") || strings.Contains(v, "schema 4") || strings.Contains(v, "schema 5") || hasPlaces {
		features = append(features, "positions of terms")
	} else {
		want, _, _ = strings.Cut(want, phraseAnswers)
	}
	features = append(features, "versions of documents") // of those in the log
	for _, codec := range []riffle.Codec{riffle.CodecInterpolative, riffle.CodecPacked, riffle.CodecPFor, riffle.CodecRice} {
		o := unmerged
		o.Codec = codec
		dir := copied(t, f)
		e := open(t, dir, o)
		must(t, e.Compact(ctx))
		st := stats(t, e)
		if len(st.Segments) < 1 || st.Deleted > 0 || st.LogRecords > 0 {
			t.Errorf("%v: compacted to %+v", codec, st)
		}
		for _, s := range st.Segments {
			if s.Sealed && (uint64(s.Format) != format.Segment.Newest || s.Writer != format.Release || !slices.Equal(s.Features, features)) {
				t.Errorf("%v: a segment is %+v, want format %d by riffle %s", codec, s, format.Segment.Newest, format.Release)
			}
		}
		got, err := ask(e, riffle.MaxK)
		if sorted := sortTies(got); err != nil || sorted != want {
			t.Errorf("%v: %v; compacted it answers\n%.2000s\nwant\n%.2000s", codec, err, sorted, want)
		}
		if err := checkDocuments(e); err != nil {
			t.Errorf("%v: %v", codec, err)
		}
		requirePosition(t, f, e)
		check(t, e)
		must(t, e.Close())
		requireNewest(t, dir)
	}
}

// requireNewest checks the bytes of a closed index: the versions of its store and of its log.
func requireNewest(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "log", "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("log files %v, %v", files, err)
	}
	for _, path := range files {
		if head := text(t, path)[:8]; head != "rifflog"+string(rune(format.LogFile.Newest)) {
			t.Errorf("%s begins with %q", filepath.Base(path), head)
		}
	}
	db, err := pebble.Open(dir, &pebble.Options{FS: vfs.Default, ReadOnly: true, Logger: quiet{}})
	must(t, err)
	defer db.Close()
	it, err := db.NewIter(&pebble.IterOptions{UpperBound: []byte("S")})
	must(t, err)
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if it.Value()[0] != byte(format.Sealed.Newest) || it.Key()[0] == 'L' {
			t.Errorf("key %q is sealed by version %d, or should be gone", it.Key(), it.Value()[0])
		}
		if string(it.Key()) == "Mformat" && it.Value()[1] != byte(format.Store.Newest) {
			t.Errorf("the store is of version %d", it.Value()[1])
		}
	}
	must(t, it.Error())
}

type quiet struct{}

func (quiet) Infof(string, ...any)                   {}
func (quiet) Errorf(string, ...any)                  {}
func (quiet) Fatalf(format string, args ...any)      { panic(fmt.Sprintf(format, args...)) }
func (quiet) Eventf(context.Context, string, ...any) {}
func (quiet) IsTracingEnabled(context.Context) bool  { return false }

// fresh returns the answers of an index of the same documents that this build has written and
// compacted.
var fresh = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "formats")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	answers := ""
	err = with(filepath.Join(dir, "index"), riffle.Options{Schema: &schema}, func(e *riffle.Engine) error {
		var b riffle.Batch
		live(func(n, state int) { b.Put(id(n), document(n, state)) })
		err := errors.Join(e.Apply(ctx, &b), e.Compact(ctx))
		if err == nil {
			answers, err = ask(e, riffle.MaxK)
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	return sortTies(answers)
})

// sortTies sorts hits of equal scores by id, because the order of documents differs between the
// indexes.
func sortTies(answers string) string {
	lines := strings.SplitAfter(answers, "\n")
	score := func(line string) string { return line[strings.LastIndexByte(line, ' ')+1:] }
	for first := 0; first < len(lines); {
		end := first + 1
		for end < len(lines) && strings.HasPrefix(lines[first], "\t") && strings.HasPrefix(lines[end], "\t") && score(lines[end]) == score(lines[first]) {
			end++
		}
		slices.Sort(lines[first:end])
		first = end
	}
	return strings.Join(lines, "")
}
