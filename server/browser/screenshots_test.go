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
	b := newTab(t, openLibrary(t))
	for _, v := range views {
		for _, width := range []int64{390, 800, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				b.size(width, 800)
				b.scheme(scheme)
				v.show(b)
				picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
				b.must(err)
				b.must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", v.name, width, scheme)), picture, 0o644))
			}
		}
	}
}
