package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestScreenshots takes pictures of every view at three widths, dark and light, for people to look at. It writes them
// to the folder that RIFFLE_SCREENSHOTS names.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("RIFFLE_SCREENSHOTS")
	if dir == "" {
		t.Skip("RIFFLE_SCREENSHOTS names no folder")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	base := openLibrary(t)
	b := newTab(t, base)
	for _, v := range views {
		if v.name == "watch" {
			searches(t, base) // so that there is something to see
		}
		for _, width := range []int64{390, 800, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				b.scheme(scheme)
				if scheme == "light" { // the other one shows the same
					b.size(width, 800)
					v.show(b)
				}
				picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
				b.must(err)
				b.must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", v.name, width, scheme)), picture, 0o644))
			}
		}
	}
}
