// Command copies writes the documents of a corpus several times over, so that there is enough to index on a
// machine of many cores: each copy to a file of its own, with ids that begin with its number.
//
//	copies CORPUS.jsonl.zst N DIR     DIR/0.jsonl to DIR/(N-1).jsonl
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("copies CORPUS.jsonl.zst N DIR")
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	if err := write(os.Args[1], n, os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func write(corpus string, n int, dir string) error {
	f, err := os.Open(corpus)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		return err
	}
	defer z.Close()
	var files []*os.File
	var writers []*bufio.Writer
	for i := range n {
		out, err := os.Create(filepath.Join(dir, strconv.Itoa(i)+".jsonl"))
		if err != nil {
			return err
		}
		files = append(files, out)
		writers = append(writers, bufio.NewWriterSize(out, 1<<20))
	}
	if err := each(z, writers); err != nil {
		return err
	}
	for i, w := range writers {
		if err := w.Flush(); err != nil {
			return err
		}
		if err := files[i].Close(); err != nil {
			return err
		}
	}
	return nil
}

// each writes every line to every writer, the id with the writer's number before it.
func each(r io.Reader, writers []*bufio.Writer) error {
	id := []byte(`"id": "`)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		at := bytes.Index(line, id)
		if at < 0 {
			return fmt.Errorf("line %d has no %s", n, id)
		}
		at += len(id)
		for i, w := range writers {
			w.Write(line[:at])
			fmt.Fprintf(w, "%d-", i)
			w.Write(line[at:])
			if err := w.WriteByte('\n'); err != nil { // what failed before fails again
				return err
			}
		}
	}
	return lines.Err()
}
