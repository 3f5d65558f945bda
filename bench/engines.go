package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// An engine is one competitor: how its program is made and started, and which
// index it opens how.
type engine struct {
	name    string
	index   string                                         // folder of its index; engines may share one
	build   map[string]string                              // options of "build"
	open    map[string]string                              // options of "open"
	prepare func(context.Context, *tools) (program, error) // makes the program

	// scale turns its scores into riffle's; 0 when its formula is another.
	scale float64

	topOnly bool   // it cannot count
	trees   bool   // it answers nested and filtered queries
	columns string // "yes" for rows, documents with columns; an engine of a run has the columns of its corpus
	fields  bool   // its documents are split into fields, so it answers only queries of several fields

	lacks   []string // modes that it has no query for
	differs []string // modes in which other documents match than riffle's

	loose bool // its distances are on an ellipsoid, and its boxes have a tolerance; see border

	// parts says that the index may have several segments. It is built, and asked what it has; queries
	// would be compared with those of one segment, and are left out.
	parts bool
}

// A program is a command line, and the files that make it what it is: when they
// change, indexes are built anew.
type program struct {
	args  []string
	env   []string // added while queries run
	files []string
}

// tools says where things are made.
type tools struct {
	source string // the folder of this module
	cache  string
	java   string // home of a JDK; empty to look for one
	other  string // program of riffle-other; empty if there is none
	log    io.Writer
}

// errToolMissing: a compiler that an engine needs is not on this machine.
var errToolMissing = errors.New("not installed here")

// many says that the index has several segments, and is searched nevertheless.
func (e engine) many() bool { return e.build["batches"] != "" }

// Options that several engines take.
var (
	graphOrder = map[string]string{"order": "bp"}
	tagged     = map[string]string{"tags": "yes"}
	batches    = map[string]string{"batches": "1000"}
	submitted  = map[string]string{"batches": "1000", "submit": "yes"}
	deleted    = map[string]string{"delete": "20%"}
	split      = map[string]string{"fields": "yes"}
	places     = map[string]string{"positions": "yes"}
	pairs      = map[string]string{"positions": "yes", "pairs": "yes"}
	points     = map[string]string{"points": "yes"}
	places2    = map[string]string{"positions": "yes", "threads": "2"}
)

// Modes that not all engines have.
var slop, near = []string{"slop"}, []string{"near"}

// Modes that some engines answer by sketches, with an error, or not at all.
var sketches = []string{"percentiles", "cardinality"}

// Modes of shapes, which Tantivy has not.
var shapeModes = []string{"within", "inside"}

// engines in the order of the tables.
var engines = []engine{
	{name: "riffle", index: "riffle", prepare: goProgram("riffle"), scale: 1, trees: true},
	{name: "riffle-bp", index: "riffle-bp", build: graphOrder, prepare: goProgram("riffle"), scale: 1, trees: true},
	// The index of riffle with other budgets than the default.
	{name: "riffle-32MiB", index: "riffle", open: map[string]string{"cache": "32"}, prepare: goProgram("riffle"), scale: 1, trees: true},
	{name: "riffle-2GiB", index: "riffle", open: map[string]string{"cache": "2048"}, prepare: goProgram("riffle"), scale: 1, trees: true},
	// Before and after in one run.
	{name: "riffle-other", index: "riffle-other", prepare: otherProgram, scale: 1, trees: true},
	{name: "lucene", index: "lucene", prepare: luceneProgram, scale: 1, trees: true},
	{name: "lucene-bp", index: "lucene-bp", build: graphOrder, prepare: luceneProgram, scale: 1, trees: true},
	// What a user gets who changes nothing: Lucene prunes only after it has counted 1,000 hits.
	{name: "lucene-1000", index: "lucene", open: map[string]string{"threshold": "1000"}, prepare: luceneProgram, scale: 1, trees: true},
	// Two threads index; documents lie in any order. Then as above, or the segments stay as they come.
	{name: "lucene-2", index: "lucene-2", build: map[string]string{"threads": "2"}, prepare: luceneProgram, scale: 1, trees: true},
	{name: "lucene-2-parts", index: "lucene-2-parts", build: map[string]string{"threads": "2", "merge": "none"}, prepare: luceneProgram, parts: true},
	// Tantivy multiplies scores by k1+1, as Robertson did; the order is the same.
	{name: "tantivy", index: "tantivy", prepare: tantivyProgram, scale: 1 / 2.2, trees: true},
	{name: "tantivy-2", index: "tantivy-2", build: map[string]string{"threads": "2"}, prepare: tantivyProgram, scale: 1 / 2.2, trees: true},
	{name: "tantivy-2-parts", index: "tantivy-2-parts", build: map[string]string{"threads": "2", "merge": "none"}, prepare: tantivyProgram, parts: true},
	{name: "bleve", index: "bleve", prepare: goProgram("bleve"), trees: true},
	{name: "bluge", index: "bluge", prepare: goProgram("bluge")},
	{name: "sqlite", index: "sqlite", prepare: goProgram("sqlite", "-tags", "sqlite_fts5")},
	{name: "pisa", index: "pisa", prepare: pisaProgram, topOnly: true},

	// Words with positions. Tantivy moves the words of a sloppy phrase by rules of its own.
	{name: "riffle-positions", index: "riffle-positions", build: places, prepare: goProgram("riffle"), scale: 1, trees: true},
	{name: "riffle-pairs", index: "riffle-pairs", build: pairs, prepare: goProgram("riffle"), scale: 1, trees: true},
	{name: "lucene-positions", index: "lucene-positions", build: places, prepare: luceneProgram, scale: 1, trees: true},
	{name: "lucene-positions-2", index: "lucene-positions-2", build: places2, prepare: luceneProgram, scale: 1, trees: true},
	{name: "tantivy-positions", index: "tantivy-positions", build: places, prepare: tantivyProgram, scale: 1 / 2.2, trees: true, lacks: near, differs: slop},
	{name: "tantivy-positions-2", index: "tantivy-positions-2", build: places2, prepare: tantivyProgram, scale: 1 / 2.2, trees: true, lacks: near, differs: slop},
	{name: "bleve-positions", index: "bleve-positions", build: places, prepare: goProgram("bleve"), trees: true, lacks: slices.Concat(slop, near)},

	// Documents with tags, for filters. Lucene's query cache is the one that it has by default.
	{name: "riffle-tags", index: "riffle-tags", build: tagged, prepare: goProgram("riffle"), scale: 1, trees: true},
	{name: "lucene-tags", index: "lucene-tags", build: tagged, open: map[string]string{"querycache": "default"}, prepare: luceneProgram, scale: 1, trees: true},
	{name: "tantivy-tags", index: "tantivy-tags", build: tagged, prepare: tantivyProgram, scale: 1 / 2.2, trees: true},
	{name: "bleve-tags", index: "bleve-tags", build: tagged, prepare: goProgram("bleve"), trees: true},

	// Documents in three fields.
	{name: "riffle-fields", index: "riffle-fields", build: split, prepare: goProgram("riffle"), scale: 1, fields: true},
	{name: "lucene-fields", index: "lucene-fields", build: split, prepare: luceneProgram, scale: 1, fields: true},

	// Rows with columns. Lucene has ranges and sorts by doc values with a skip index, or by points; no percentiles
	// and no cardinality. Tantivy's are sketches, and it has no shapes. bleve has facets and sorts, and no scores
	// by functions.
	{name: "riffle-columns", index: "riffle-columns", prepare: goProgram("riffle"), scale: 1, columns: "yes"},
	{name: "lucene-columns", index: "lucene-columns", prepare: luceneProgram, scale: 1, columns: "yes", lacks: sketches},
	{name: "lucene-columns-points", index: "lucene-columns-points", build: points, open: points, prepare: luceneProgram, scale: 1, columns: "yes", lacks: sketches},
	{name: "tantivy-columns", index: "tantivy-columns", prepare: tantivyProgram, scale: 1 / 2.2, columns: "yes", lacks: shapeModes, differs: sketches},
	{name: "bleve-columns", index: "bleve-columns", prepare: goProgram("bleve"), columns: "yes", lacks: slices.Concat(sketches, []string{"histogram", "stats", "score"}), loose: true},

	// As adding 1,000 documents at a time leaves the index, with the default merge policy.
	{name: "riffle-batches", index: "riffle-batches", build: batches, prepare: goProgram("riffle"), scale: 1, trees: true},
	{name: "riffle-submit", index: "riffle-submit", build: submitted, prepare: goProgram("riffle"), scale: 1, trees: true},
	{name: "lucene-batches", index: "lucene-batches", build: batches, prepare: luceneProgram, scale: 1, trees: true},
	{name: "tantivy-batches", index: "tantivy-batches", build: batches, prepare: tantivyProgram, scale: 1 / 2.2, trees: true},

	// One segment of which 20 % of the documents are deleted.
	{name: "riffle-deleted", index: "riffle-deleted", build: deleted, prepare: goProgram("riffle"), scale: 1, trees: true},
	{name: "lucene-deleted", index: "lucene-deleted", build: deleted, prepare: luceneProgram, scale: 1, trees: true},
	{name: "tantivy-deleted", index: "tantivy-deleted", build: deleted, prepare: tantivyProgram, scale: 1 / 2.2, trees: true},
}

// over returns the engine with the columns of a corpus, if it has some.
func (e engine) over(c corpus) (engine, error) {
	if (e.columns != "") != (c.columns != "") {
		return e, fmt.Errorf("%s: only engines whose name says columns, and these all, index rows (-sources @logs)", e.name)
	}
	if e.columns == "" {
		return e, nil
	}
	with := func(options map[string]string) map[string]string {
		to := map[string]string{"columns": c.columns}
		maps.Copy(to, options)
		return to
	}
	e.columns, e.build, e.open = c.columns, with(e.build), with(e.open)
	return e, nil
}

func find(name string) (engine, bool) {
	i := slices.IndexFunc(engines, func(e engine) bool { return e.name == name })
	if i < 0 {
		return engine{}, false
	}
	return engines[i], true
}

func (t *tools) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = t.source
	cmd.Stdout, cmd.Stderr = t.log, t.log
	return cmd
}

// oneProcessor is for Go programs while queries run: their garbage collection shares it.
var oneProcessor = []string{"GOMAXPROCS=1"}

// goProgram builds a command of this module.
func goProgram(name string, flags ...string) func(context.Context, *tools) (program, error) {
	return func(ctx context.Context, t *tools) (program, error) {
		exe := filepath.Join(t.cache, "bin", name)
		args := append([]string{"build", "-trimpath", "-buildvcs=false", "-o", exe}, flags...) // a commit alone builds no index anew
		if err := t.command(ctx, "go", append(args, "./"+name)...).Run(); err != nil {
			return program{}, fmt.Errorf("go build ./%s: %w", name, err)
		}
		return program{args: []string{exe}, env: oneProcessor, files: []string{exe}}, nil
	}
}

// otherProgram is what ./riffle was at another commit. It is not in the folder of this module, so who
// measures builds it there.
func otherProgram(_ context.Context, t *tools) (program, error) {
	if t.other == "" {
		return program{}, fmt.Errorf("-other names no program: %w", errToolMissing)
	}
	exe, err := filepath.Abs(t.other)
	return program{args: []string{exe}, env: oneProcessor, files: []string{exe}}, err
}

// tantivyProgram builds ./tantivy for the processor of this machine.
func tantivyProgram(ctx context.Context, t *tools) (program, error) {
	if _, err := exec.LookPath("cargo"); err != nil {
		return program{}, fmt.Errorf("cargo: %w", errToolMissing)
	}
	target := filepath.Join(t.cache, "tantivy-target")
	cmd := t.command(ctx, "cargo", "build", "--release", "--locked", "--quiet", "-j1")
	cmd.Dir = filepath.Join(t.source, "tantivy")
	cmd.Env = append(os.Environ(), "CARGO_TARGET_DIR="+target, "RUSTFLAGS=-C target-cpu=native")
	if err := cmd.Run(); err != nil {
		return program{}, fmt.Errorf("cargo build: %w", err)
	}
	exe := filepath.Join(target, "release", "tantivy-bench")
	return program{args: []string{exe}, files: []string{exe}}, nil
}

// pisaPackages are wheels from PyPI: PISA's retrieval as a Python extension, the
// library that it is linked with, and numpy. PyTerrier itself is not needed.
var pisaPackages = []string{"pyterrier-pisa==0.4.9", "tbb==2020.3.254", "numpy==2.2.6"}

func pisaProgram(ctx context.Context, t *tools) (program, error) {
	if _, err := exec.LookPath("python3"); err != nil {
		return program{}, fmt.Errorf("python3: %w", errToolMissing)
	}
	venv := filepath.Join(t.cache, "pisa-venv")
	python := filepath.Join(venv, "bin", "python")
	if exec.CommandContext(ctx, python, "-c", "import numpy").Run() != nil {
		if err := t.command(ctx, "python3", "-m", "venv", "--clear", venv).Run(); err != nil {
			return program{}, fmt.Errorf("python3 -m venv: %w", err)
		}
		install := append([]string{"-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"}, pisaPackages...)
		if err := t.command(ctx, python, install...).Run(); err != nil {
			return program{}, fmt.Errorf("no wheel for this Python or system: %w", errToolMissing)
		}
	}
	script := filepath.Join(t.source, "pisa", "pisa.py")
	return program{args: []string{python, script}, files: []string{script}}, nil
}

const luceneVersion = "10.6.0"

// jars are what LuceneBench.java is compiled against, from Maven Central, with
// their SHA-256 sums.
var jars = []struct{ path, sum string }{
	{"org/apache/lucene/lucene-core/" + luceneVersion + "/lucene-core-" + luceneVersion + ".jar", "211424f423ff1afeb891095c2142a20a572e545906251f28b8faaa408d01f934"},
	{"org/apache/lucene/lucene-misc/" + luceneVersion + "/lucene-misc-" + luceneVersion + ".jar", "76ef19cea86639c47f527af66ef71ac2fdfc1ec03d266caee3e394aac586f62e"},
	{"org/apache/lucene/lucene-queries/" + luceneVersion + "/lucene-queries-" + luceneVersion + ".jar", "7ec548c2eb924c79ac4975b32e7b17395dec04bed936ef8a1ed48b2db06e73e5"},
	{"org/apache/lucene/lucene-analysis-common/" + luceneVersion + "/lucene-analysis-common-" + luceneVersion + ".jar", "7e7fc5bcb7e2fd702701cfa7f5c209f28bdaf89cb8ef0ba379255c9d7c687430"},
	{"org/apache/lucene/lucene-sandbox/" + luceneVersion + "/lucene-sandbox-" + luceneVersion + ".jar", "75beeaae29743d5e8892ac93b64d712a345022f8d1977e95af0070ce51308767"},
	{"com/google/code/gson/gson/2.13.2/gson-2.13.2.jar", "dd0ce1b55a3ed2080cb70f9c655850cda86c206862310009dcb5e5c95265a5e0"},
}

// luceneProgram fetches the jars, if they are not in the cache, and compiles.
func luceneProgram(ctx context.Context, t *tools) (program, error) {
	home, err := jdk(ctx, t.java)
	if err != nil {
		return program{}, err
	}
	dir := filepath.Join(t.cache, "lucene-"+luceneVersion)
	classes := filepath.Join(dir, "classes")
	if err := os.MkdirAll(classes, 0o755); err != nil {
		return program{}, err
	}
	classpath := classes
	for _, jar := range jars {
		file := filepath.Join(dir, filepath.Base(jar.path))
		if err := fetch(ctx, "https://repo1.maven.org/maven2/"+jar.path, file, jar.sum); err != nil {
			return program{}, err
		}
		classpath += string(os.PathListSeparator) + file
	}
	sources := []string{filepath.Join(t.source, "lucene", "LuceneBench.java"), filepath.Join(t.source, "lucene", "LuceneColumns.java"), filepath.Join(t.source, "lucene", "LucenePlaces.java")}
	err = t.command(ctx, filepath.Join(home, "bin", "javac"), append([]string{"-cp", classpath, "-d", classes}, sources...)...).Run()
	if err != nil {
		return program{}, fmt.Errorf("javac: %w", err)
	}
	return program{
		// As luceneutil, Lucene's own benchmark, starts the JVM. The vector module
		// is what Lucene decodes postings with, if it may.
		args: []string{filepath.Join(home, "bin", "java"), "-server", "-Xms2g", "-Xmx2g", "-XX:+UseParallelGC",
			"--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED", "-cp", classpath, "LuceneBench"},
		files: sources,
	}, nil
}

// jdk returns the home of the newest JDK, of 21 at least: where it was told to
// look, else JAVA_HOME, else the folders of /usr/lib/jvm.
func jdk(ctx context.Context, told string) (string, error) {
	homes := []string{told}
	if told == "" {
		installed, _ := filepath.Glob("/usr/lib/jvm/*")
		homes = append([]string{os.Getenv("JAVA_HOME")}, installed...)
	}
	best, version := "", 20
	for _, home := range homes {
		out, err := exec.CommandContext(ctx, filepath.Join(home, "bin", "javac"), "-version").Output()
		m := regexp.MustCompile(`^javac (\d+)`).FindSubmatch(out)
		if home == "" || err != nil || m == nil {
			continue
		}
		if v, _ := strconv.Atoi(string(m[1])); v > version {
			best, version = home, v
		}
	}
	if best == "" {
		return "", fmt.Errorf("a JDK of 21 or newer: %w", errToolMissing)
	}
	return best, nil
}

// fetch makes sure that a file is there and has this SHA-256 sum.
func fetch(ctx context.Context, url, path, sum string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, resp.Status)
		}
		if content, err = io.ReadAll(resp.Body); err != nil {
			return fmt.Errorf("%s: %w", url, err)
		}
	}
	if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != sum {
		return fmt.Errorf("%s: SHA-256 is %x, not %s", path, got, sum)
	}
	return os.WriteFile(path, content, 0o644)
}
