package node

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// identityFile is in the directory of a node and says whose it is.
const identityFile = "node.json"

type identity struct {
	Version  int    `json:"version"` // of the file: 1
	Name     string `json:"name"`
	Identity string `json:"identity"`
}

// identify returns the identity of a directory, which it makes for a new one.
func identify(dir, name string) (string, error) {
	path := filepath.Join(dir, identityFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newIdentity(path, name)
	}
	if err != nil {
		return "", fmt.Errorf("node: %w", err)
	}
	var id identity
	if err := json.Unmarshal(data, &id); err != nil {
		return "", fmt.Errorf("node: %s: %w", path, err)
	}
	switch {
	case id.Version != 1:
		return "", fmt.Errorf("node: %s has version %d; this program reads version 1", path, id.Version)
	case id.Name != name:
		return "", fmt.Errorf("node: %s is the directory of node %s, not of %s", dir, id.Name, name)
	}
	return id.Identity, nil
}

func newIdentity(path, name string) (string, error) {
	id := identity{Version: 1, Name: name, Identity: rand.Text()}
	data, err := json.Marshal(&id)
	if err != nil {
		return "", fmt.Errorf("node: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return "", fmt.Errorf("node: %w", err)
	}
	next := path + ".new"
	if err := writeSynced(next, data); err != nil {
		return "", fmt.Errorf("node: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return "", fmt.Errorf("node: %w", err)
	}
	return id.Identity, nil
}

func writeSynced(path string, data []byte) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}
