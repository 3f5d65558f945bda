package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// TestPicture takes the picture of the page that the README shows, and writes it to the file that RIFFLE_PICTURE names.
func TestPicture(t *testing.T) {
	path := os.Getenv("RIFFLE_PICTURE")
	if path == "" {
		t.Skip("RIFFLE_PICTURE names no file")
	}
	b := newTab(t, openLibrary(t))
	b.size(1000, 990)
	b.scheme("light")
	for range 5 { // so that lists are cached
		b.open("/?index=books&q=a+time+of+storm")
	}
	b.click("[data-why]")
	b.wait(`document.querySelector(".why .tree")`)
	eval[any](b, "document.activeElement.blur()")
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	b.must(err)
	picture := smaller(t, shot)
	b.must(os.WriteFile(path, picture, 0o644))
	if len(picture) > 150<<10 {
		t.Errorf("the picture has %d bytes, more than 150 KB", len(picture))
	}
}

// smaller returns a picture with the 256 colours that it has most, which are all but some at the edges of letters.
func smaller(t *testing.T, picture []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[color.Color]int{}
	size := from.Bounds()
	for y := range size.Dy() {
		for x := range size.Dx() {
			counts[from.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	to := image.NewPaletted(size, colors[:min(256, len(colors))])
	draw.Draw(to, size, from, image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, to); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
