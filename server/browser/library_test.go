package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/jsonl"
	"github.com/riffle-search/riffle/server"
)

// library is a server with two indexes: "books" has thousands of passages in several segments, some of them deleted,
// and "scripts" has texts that are hard to lay out. It is made once, and tests do not change it.
var library struct {
	once  sync.Once
	url   string
	err   error
	close func()
}

// A passage is a document of the index "books".
type passage struct {
	Title  string `riffle:"title,analyzer=english"`
	Text   string `riffle:"text,analyzer=english"`
	Author string `riffle:"author,keyword"` // or the package, of a passage of Go
	Speech string `riffle:"speech,keyword"` // whether it has quotation marks
	Words  int    `riffle:"words"`
}

const passages = 4000

// openLibrary returns the address of the library.
func openLibrary(t testing.TB) string {
	t.Helper()
	if chromium == nil {
		t.Skip(noChromium)
	}
	library.once.Do(func() { library.err = serveLibrary() })
	if library.err != nil {
		t.Fatal(library.err)
	}
	return library.url
}

func serveLibrary() error {
	dir, err := os.MkdirTemp("", "riffle-browser-")
	if err != nil {
		return err
	}
	library.close = func() { os.RemoveAll(dir) }
	ctx := context.Background()
	if err := makeBooks(ctx, filepath.Join(dir, "books")); err != nil {
		return err
	}
	if err := makeScripts(ctx, filepath.Join(dir, "scripts")); err != nil {
		return err
	}
	s, err := server.New(&server.Options{Dir: dir})
	if err != nil {
		return err
	}
	h := httptest.NewServer(s)
	library.url = h.URL
	library.close = func() {
		h.Close()
		s.Close(ctx)
		os.RemoveAll(dir)
	}
	return nil
}

// makeBooks makes the index "books".
func makeBooks(ctx context.Context, dir string) error {
	schema, err := riffle.SchemaOf(passage{})
	if err != nil {
		return err
	}
	e, err := riffle.Open(dir, &riffle.Options{Schema: schema, Durability: riffle.SyncNone, Merge: riffle.MergeOptions{Disabled: true}})
	if err != nil {
		return err
	}
	var b riffle.Batch
	n := 0
	err = eachPassage(func(id string, p *passage) error {
		p.Words, p.Speech = len(strings.Fields(p.Text)), "no"
		if strings.ContainsAny(p.Text, "\"“") {
			p.Speech = "yes"
		}
		b.Put(id, p)
		if n++; n%(passages/4) != 0 {
			return nil
		}
		if err := e.Apply(ctx, &b); err != nil {
			return err
		}
		b.Reset()
		return e.Flush(ctx)
	})
	if err == nil && n < passages {
		err = fmt.Errorf("only %d passages", n)
	}
	if err == nil {
		_, err = e.DeleteByQuery(ctx, riffle.Match{Field: "text", Text: "whale"}, nil)
	}
	return errors.Join(err, e.Close())
}

// eachPassage calls f for passages of many books, or of Go's standard library if there is no corpus.
func eachPassage(f func(id string, p *passage) error) error {
	dir := os.Getenv("RIFFLE_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	r, err := jsonl.Open(filepath.Join(dir, "gutenberg-a.jsonl.zst"))
	if errors.Is(err, os.ErrNotExist) {
		return eachPassageOfGo(f)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	const step = 50 // most books are then among them
	for n := 0; n < step*passages; n++ {
		line, err := r.Line()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n%step != 0 {
			continue
		}
		var p jsonl.Parser
		var d jsonl.Document
		if err := p.Parse(line, &d); err != nil {
			return err
		}
		m := d.Map()
		// Titles are such as Is Mars Habitable_ (Alfred Russel Wallace): file names, without some characters.
		title := strings.NewReplacer("_ (", "? (", "_ ", ": ").Replace(m["title"].(string))
		at := strings.LastIndex(title, " (")
		author := strings.TrimSuffix(title[at+2:], ")")
		if err := f(d.ID, &passage{Title: title[:at], Author: author, Text: m["text"].(string)}); err != nil {
			return err
		}
	}
	return nil
}

// eachPassageOfGo calls f for parts of the files of Go's standard library.
func eachPassageOfGo(f func(id string, p *passage) error) error {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "src")
	type part struct {
		file string
		text string
	}
	var parts []part
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "cmd" || d.Name() == "vendor" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		var b strings.Builder
		for paragraph := range strings.SplitSeq(string(text), "\n\n") {
			if b.WriteString(paragraph + "\n"); b.Len() >= 1000 {
				parts = append(parts, part{name, strings.ToValidUTF8(b.String()[:min(b.Len(), 4000)], "")})
				b.Reset()
			}
		}
		return nil
	})
	if err == nil && len(parts) < passages {
		err = fmt.Errorf("%s has %d passages, of %d; set RIFFLE_CORPORA", root, len(parts), passages)
	}
	for i := 0; i < passages && err == nil; i++ {
		p := parts[i*len(parts)/passages] // of all packages
		title := strings.NewReplacer("/", " ", "_", " ", ".go", "").Replace(p.file)
		err = f(fmt.Sprintf("%s#%d", p.file, i), &passage{Title: title, Author: filepath.ToSlash(filepath.Dir(p.file)), Text: p.text})
	}
	return err
}

// makeScripts makes the index "scripts": texts from right to left, of Genesis 1 and of the Universal Declaration of
// Human Rights, and words and names that are longer than a narrow window.
func makeScripts(ctx context.Context, dir string) error {
	e, err := riffle.Open(dir, &riffle.Options{Durability: riffle.SyncNone})
	if err != nil {
		return err
	}
	long := "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
	var b riffle.Batch
	for id, doc := range map[string]map[string]any{
		"genesis":   {"title": "בראשית א", "text": "בראשית ברא אלהים את השמים ואת הארץ. והארץ היתה תהו ובהו וחשך על פני תהום ורוח אלהים מרחפת על פני המים.", "language": "עברית"},
		"rights-ar": {"title": "المادة 1", "text": "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميراً وعليهم أن يعامل بعضهم بعضاً بروح الإخاء.", "language": "العربية"},
		"rights-fa": {"title": "ماده ۱", "text": "تمام افراد بشر آزاد به دنیا می" + "\u200c" + "آیند و از لحاظ حیثیت و حقوق با هم برابرند.", "language": "فارسی"},
		"rights-en": {"title": "Article 1", "text": "All human beings are born free and equal in dignity and rights. In Hebrew: כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.", "language": "English"},
		long:        {"title": long + " " + long, "text": "Ein Wort: " + long + ".", "language": long, strings.Repeat("a_long_name_", 12): "a field with a long name"},
		"markup":    {"title": "<b>not bold</b>", "text": "Of markup: <script>alert(1)</script> & <img src=x onerror=alert(2)>.", "language": "<i>HTML</i>"},
	} {
		b.Put(id, doc)
	}
	return errors.Join(e.Apply(ctx, &b), e.Flush(ctx), e.Close())
}

// serveScripts serves an index of its own, until close is called.
func serveScripts(t *testing.T) (url string, close func()) {
	t.Helper()
	if chromium == nil {
		t.Skip(noChromium)
	}
	dir := t.TempDir()
	if err := makeScripts(t.Context(), filepath.Join(dir, "scripts")); err != nil {
		t.Fatal(err)
	}
	s, err := server.New(&server.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	close = sync.OnceFunc(func() {
		h.CloseClientConnections()
		h.Close()
		s.Close(context.Background())
	})
	t.Cleanup(close)
	return h.URL, close
}

// serveNothing returns the address of a server without an index.
func serveNothing(t *testing.T) string {
	t.Helper()
	if chromium == nil {
		t.Skip(noChromium)
	}
	s, err := server.New(&server.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		s.Close(context.Background())
	})
	return h.URL
}
