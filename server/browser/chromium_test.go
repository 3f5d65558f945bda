package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
)

// chromium is the browser of all tests, each of which opens a tab of its own; nil if there is none.
var chromium context.Context

func TestMain(m *testing.M) { os.Exit(testAll(m)) }

func testAll(m *testing.M) int {
	path := findChromium()
	if path == "" && os.Getenv("CI") != "" {
		fmt.Fprintln(os.Stderr, "browser: "+noChromium)
		return 1
	}
	if path != "" {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU,
			chromedp.Flag("lang", "en-US"), chromedp.Flag("hide-scrollbars", true))
		if os.Geteuid() == 0 {
			options = append(options, chromedp.NoSandbox) // which Chromium refuses to set up for root
		}
		allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
		defer stop()
		var close context.CancelFunc
		chromium, close = chromedp.NewContext(allocator)
		defer close()
		if err := chromedp.Do(chromium); err != nil {
			fmt.Fprintf(os.Stderr, "browser: %s does not start: %v\n", path, err)
			return 1
		}
	}
	code := m.Run()
	if library.close != nil {
		library.close()
	}
	return code
}

const noChromium = "no Chromium: install the package chromium, or name a browser by RIFFLE_CHROMIUM"

// findChromium returns the path of a browser, or "".
func findChromium() string {
	for _, name := range []string{os.Getenv("RIFFLE_CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}
