package library

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// findGo returns the root of a Go installation and its version: the one given, or the one of the go
// command. (runtime.GOROOT is deprecated, because programs run on other machines than the one that
// built them.)
func findGo(ctx context.Context, root string) (dir, version string, err error) {
	if root == "" {
		out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
		root = strings.TrimSpace(string(out))
		if err != nil || root == "" {
			return "", "", fmt.Errorf("`go env GOROOT` does not say where Go is installed (%v); name the place with --goroot", err)
		}
	}
	if st, err := os.Stat(filepath.Join(root, "src", "builtin")); err != nil || !st.IsDir() {
		return "", "", fmt.Errorf("%s holds no standard library: %s is missing", root, filepath.Join("src", "builtin"))
	}
	// The first line of VERSION is "go1.26.0", for example. Go built from a repository has no such
	// file; its library then counts as one version.
	text, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return root, "go at " + root, nil
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return root, strings.TrimSpace(line), nil
}
