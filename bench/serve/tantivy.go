package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

// tantivySchema is what tantivy new asks for at a terminal: ids that are stored, and English texts that are not.
const tantivySchema = `{"segments": [], "schema": [
	{"name": "id", "type": "text", "options": {"indexing": null, "stored": true, "fast": false}},
	{"name": "text", "type": "text", "options": {"indexing": {"record": "position", "fieldnorms": true, "tokenizer": "en_stem"}, "stored": false, "fast": false}}
], "opstamp": 0}`

// buildTantivy indexes the corpus with tantivy-cli, into one segment.
func buildTantivy(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "meta.json"), []byte(tantivySchema), 0o666); err != nil {
		return err
	}
	index := exec.Command(*tantivy, "index", "-i", dir, "-t", "1")
	index.Stdout, index.Stderr = os.Stderr, os.Stderr
	in, err := index.StdinPipe()
	if err != nil {
		return err
	}
	if err := index.Start(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(in, 1<<20)
	enc := json.NewEncoder(out)
	err = eachPassage(func(id, text string) error { return enc.Encode(map[string]string{"id": id, "text": text}) })
	if err := errors.Join(err, out.Flush(), in.Close(), index.Wait()); err != nil {
		return err
	}
	merge := exec.Command(*tantivy, "merge", "-i", dir)
	merge.Stdout, merge.Stderr = os.Stderr, os.Stderr
	return merge.Run()
}

// startTantivy starts its server.
func startTantivy(string) (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}
	p, err := onCores(*tantivy, "serve", "-i", indexDir("tantivy"), "-p", fmt.Sprint(port), "--host", "127.0.0.1")
	if err != nil {
		return nil, err
	}
	go func() { // what it prints must not fill the pipe
		for {
			if _, err := p.out.ReadString('\n'); err != nil {
				return
			}
		}
	}()
	p.addr = fmt.Sprintf("127.0.0.1:%d", port)
	return p, waitFor(p.addr)
}
