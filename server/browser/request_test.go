package browser

import (
	"encoding/json"
	"go/format"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestRequestForms: the request as JSON and as curl finds the hits that the page shows, and as Go it is Go.
func TestRequestForms(t *testing.T) {
	t.Parallel()
	b := newTab(t, openLibrary(t))
	b.open("/?index=books&q=time+letter+-king&sort=-words&f.speech=yes&from=10")
	b.click("summary")
	b.wait(`document.querySelector(".request pre").offsetHeight > 0`)
	want := b.texts("[data-inside]")
	if len(want) < 2 {
		t.Fatalf("the page has %d hits", len(want))
	}
	forms := b.texts(".request pre")
	check := func(form string, answer []byte) {
		var a struct {
			Hits []struct {
				ID string `json:"id"`
			} `json:"hits"`
		}
		if err := json.Unmarshal(answer, &a); err != nil {
			t.Fatalf("%s: %v: %s", form, err, answer)
		}
		var got []string
		for _, h := range a.Hits {
			got = append(got, h.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s finds %q, the page %q", form, got, want)
		}
	}
	res, err := http.Post("http://"+b.host+"/v1/indexes/books/search", "application/json", strings.NewReader(forms[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	check("JSON", answer)
	if curl, err := exec.LookPath("curl"); err == nil {
		answer, err := exec.Command("sh", "-c", strings.Replace(forms[1], "curl ", curl+" -s ", 1)).Output()
		if err != nil {
			t.Fatal(err)
		}
		check("curl", answer)
	}
	if _, err := format.Source([]byte("package p\n\nfunc f() {\n" + forms[2] + "\n}\n")); err != nil {
		t.Errorf("Go: %v:\n%s", err, forms[2])
	}
}
