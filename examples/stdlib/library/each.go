package library

import (
	"context"
	"path/filepath"

	"github.com/riffle-search/riffle"
)

// Schema returns the schema of declarations for indexes that do not have the analyzer of this package: names and source
// are read as texts in English are, but for their stems.
func Schema() (*riffle.Schema, error) {
	schema, err := riffle.SchemaOf(declaration{})
	if err != nil {
		return nil, err
	}
	for name, f := range schema.Fields {
		if f.Analyzer == "go" {
			f.Analyzer = "standard"
			schema.Fields[name] = f
		}
	}
	return schema, nil
}

// Each calls put with each declaration of the Go installation in goroot, or of the one of the go command if that is
// empty: its id, and a struct for riffle.Batch.Put. An error ends it. It returns the version of Go.
func Each(ctx context.Context, goroot string, put func(id string, doc any) error) (version string, err error) {
	root, version, err := findGo(ctx, goroot)
	if err != nil {
		return "", err
	}
	return version, readLibrary(ctx, filepath.Join(root, "src"), func(decls []declaration) error {
		for i := range decls {
			if err := put(decls[i].ID, &decls[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
