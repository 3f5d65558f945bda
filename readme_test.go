package riffle_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
)

func ishmael(ctx context.Context, dir string) error {
	e, err := riffle.Open(dir, nil)
	if err != nil {
		return err
	}
	defer e.Close()
	doc := map[string]any{"title": "Moby Dick", "text": "Call me Ishmael."}
	if err := e.Put(ctx, "1", doc); err != nil {
		return err
	}
	res, err := e.Search(ctx, riffle.Match{Field: "text", Text: "ishmael"}, nil)
	if err != nil {
		return err
	}
	for _, hit := range res.Hits {
		fmt.Println(hit.ID, hit.Score)
	}
	return nil
}

func Example_readme() {
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := ishmael(context.Background(), dir); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 0.13076418545097113
}

// The code of the README is the function above, which compiles and runs.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "```go\n")
	code, _, closed := strings.Cut(rest, "```")
	if !ok || !closed || !strings.Contains(string(source), "\n"+code) {
		t.Errorf("readme_test.go lacks the code of README.md, word for word:\n%s", code)
	}
	for _, command := range []string{`go run ./examples/stdlib "context cancel goroutine"`, "go test ./..."} {
		if !strings.Contains(string(readme), "\n    "+command) {
			t.Errorf("README.md lacks the command %s", command)
		}
	}
}
