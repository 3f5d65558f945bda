// Command columns runs all tasks of rows with columns and writes a page of them, in some 15 minutes on a quiet
// machine of two cores:
//
//	go run ./columns > results/DATE-columns.md
//
// With -page places it is the tasks of places and of scores by functions, over products alone, in some 10 minutes.
//
// It runs the bench ("go run . -measure columns") over log lines and products, beside Lucene and Tantivy, then over
// ranges of log lines that are new, and then over fewer rows beside bleve. Times are wall times; with -clock cpu, on a
// machine with other work, CPU times. With -keep it leaves the reports in a folder, and reads those that are there
// instead of measuring again.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(log.Ltime)
	log.SetPrefix("columns: ")
	rows := flag.Int("rows", 2_000_000, "rows of each kind")
	few := flag.Int("bleve", 50_000, "rows beside bleve, whose index takes long to build; 0 for none")
	clock := flag.String("clock", "wall", "wall or cpu")
	keep := flag.String("keep", "", "folder of the reports")
	fresh := flag.Bool("new", true, "also ranges and shapes that are new, each timed once")
	about := flag.String("page", "columns", "columns or places")
	cache := flag.String("cache", "", "folder of programs and indexes, as of the bench")
	flag.Parse()
	if err := run(*about, *rows, *few, *fresh, *clock, *cache, *keep); err != nil {
		log.Fatal(err)
	}
}

func run(about string, rows, few int, fresh bool, clock, cache, keep string) error {
	if keep == "" {
		dir, err := os.MkdirTemp("", "columns")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		keep = dir
	} else if err := os.MkdirAll(keep, 0o755); err != nil {
		return err
	}
	p := page{about: about}
	if titles[about] == "" {
		return fmt.Errorf("-page %s: neither columns nor places", about)
	}
	for _, s := range sections(about, rows, few) {
		if s.once && !fresh {
			continue
		}
		path := filepath.Join(keep, s.name+".json")
		r, err := read(path)
		if errors.Is(err, fs.ErrNotExist) {
			args := append([]string{"run", ".", "-measure", "columns", "-clock", clock, "-json", path}, s.flags...)
			if cache != "" {
				args = append(args, "-cache", cache)
			}
			log.Printf("go %s", strings.Join(args, " "))
			cmd := exec.Command("go", args...)
			cmd.Stderr = os.Stderr
			if err = cmd.Run(); err == nil {
				r, err = read(path)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		p.sections, p.reports = append(p.sections, s), append(p.reports, r)
	}
	p.write(os.Stdout)
	return nil
}

// A section is one run of the bench.
type section struct {
	name, title string
	flags       []string
	once        bool // each query is timed once
}

var titles = map[string]string{"columns": "Columns", "places": "Places and function scores"}

// Modes of the tasks of places, and the others that products have.
const (
	placeModes  = "within,inside,nearest,score"
	columnModes = "range,filtered,sort,terms,histogram,stats,percentiles,cardinality"
)

func sections(about string, rows, few int) []section {
	peers := "riffle-columns,lucene-columns,lucene-columns-points,tantivy-columns"
	n, budget := strconv.Itoa(rows), []string{"-limit", "5", "-prime", "5", "-warm", "0.1", "-reps", "10", "-budget", "0.6"}
	all := func(name, title, docs, source, engines string) section {
		modes := columnModes
		if about == "places" {
			modes = placeModes
		}
		return section{name, title, append([]string{"-docs", docs, "-sources", source, "-engines", engines, "-modes", modes}, budget...), false}
	}
	once := func(name, title, source, engines, modes, limit string) section {
		return section{name, title, []string{"-docs", n, "-sources", source, "-engines", engines, "-modes", modes,
			"-passes", "1", "-prime", "0.7", "-reps", "0", "-limit", limit}, true}
	}
	if about == "places" {
		s := []section{
			all("places", "Products", n, "@products", peers),
			once("places-new", "Products: shapes that are new, each timed once", "@products", "riffle-columns,lucene-columns-points", "within,inside", "20"),
		}
		if few > 0 {
			s = append(s, all("places-bleve", "Products, beside bleve", strconv.Itoa(few), "@products", "riffle-columns,bleve-columns"))
		}
		return s
	}
	s := []section{
		all("logs", "Log lines", n, "@logs", peers),
		once("new", "Log lines: ranges that are new, each timed once", "@logs", peers, "range,filtered", "50"),
		all("products", "Products", n, "@products", peers),
	}
	if few > 0 {
		n, engines := strconv.Itoa(few), "riffle-columns,bleve-columns"
		s = append(s, all("logs-bleve", "Log lines, beside bleve", n, "@logs", engines),
			all("products-bleve", "Products, beside bleve", n, "@products", engines))
	}
	return s
}

// A report is what this program needs of a report of the bench.
type report struct {
	Date, Machine, Load, Clock, Command string
	Docs                                int
	Engines                             []struct {
		Name           string
		Bytes, Columns int64
		Built          struct{ Seconds float64 }
	}
	Cells []struct {
		Engine, Queries, Task string
		Mean                  float64 // microseconds
	}
	Agreements []struct {
		Engine, With          string
		Hits, Same, Tied, Off int
		Counts, CountsWrong   int
		CountsBorder          int
		Examples              []string
	}
}

func read(path string) (r *report, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return r, json.Unmarshal(text, &r)
}
