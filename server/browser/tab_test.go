package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A tab is a tab of the browser, which watches what the page does.
type tab struct {
	t    testing.TB
	ctx  context.Context
	host string // the only one that the page may send requests to

	mu       sync.Mutex
	problems []string
	requests []string // their addresses
}

// newTab opens a tab. At the end of the test it reports what went wrong in the page.
func newTab(t testing.TB, base string) *tab {
	t.Helper()
	if chromium == nil {
		t.Skip(noChromium)
	}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	b := &tab{t: t, host: u.Host}
	var closeTab context.CancelFunc
	b.ctx, closeTab = chromedp.NewContext(chromium)
	t.Cleanup(closeTab)
	t.Cleanup(func() {
		for _, p := range b.taken() {
			t.Errorf("the page: %s", p)
		}
	})
	b.must(chromedp.Listen(b.ctx, b.heard))
	// Of several tabs, each behaves as if it were the one in front.
	_, err = chromedp.Call(b.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	b.must(err)
	_, err = chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	b.must(err)
	_, err = chromedp.Call(b.ctx, log.Enable, cdp.Empty{})
	b.must(err)
	return b
}

// heard notes what is wrong about an event.
func (b *tab) heard(event any) {
	var problem string
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			problem = fmt.Sprintf("console: %s %s", e.Type, encoded(e.Args))
		}
	case *runtime.EventExceptionThrown:
		problem = "exception: " + encoded(e.ExceptionDetails)
	case *log.EventEntryAdded: // broken content security policies are here, and answers that are errors
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			problem = fmt.Sprintf("log: %s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		b.mu.Lock()
		b.requests = append(b.requests, e.Request.URL)
		b.mu.Unlock()
		if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "data" && u.Scheme != "about" && u.Host != b.host {
			problem = "a request to another host: " + e.Request.URL
		}
	case *network.EventResponseReceived:
		if policy := e.Response.Headers["Content-Security-Policy"]; e.Type == network.ResourceTypeDocument && policy == nil {
			problem = "no content security policy: " + e.Response.URL
		}
	}
	if problem != "" {
		b.mu.Lock()
		b.problems = append(b.problems, problem)
		b.mu.Unlock()
	}
}

// taken returns the problems since the last call.
func (b *tab) taken() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.problems
	b.problems = nil
	return p
}

// sent returns the addresses of requests so far that contain a text.
func (b *tab) sent(part string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.requests), func(u string) bool { return !strings.Contains(u, part) })
}

func (b *tab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// patience is how long a test waits for what must come: it is not a measure of anything.
const patience = 20 * time.Second

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	b.must(chromedp.Do(ctx, steps...))
}

// open goes to an address of the server, and waits until it is loaded.
func (b *tab) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate("http://" + b.host + path))
}

// size sets the size of the window, in CSS pixels.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
	b.must(err)
}

// scheme sets whether the user likes "dark" or "light" pages.
func (b *tab) scheme(name string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
	b.must(err)
}

// plain switches JavaScript off, for the pages that are opened from then on.
func (b *tab) plain() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.must(err)
}

// eval returns the value of an expression of JavaScript.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// wait waits until an expression of JavaScript is true.
func (b *tab) wait(expression string) {
	b.t.Helper()
	for until := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && ok { // while another page is being loaded, there are errors
			return
		}
		if time.Now().After(until) {
			b.t.Fatalf("never true: %s (%v); the page has:\n%s", expression, err, eval[string](b, "document.body.innerText"))
		}
	}
}

// encoded returns a value as JSON, which of a string is one of JavaScript, too.
func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// text returns what is visible of the first element of a selector.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, "document.querySelector("+encoded(selector)+").innerText")
}

// texts returns what is visible of all elements of a selector.
func (b *tab) texts(selector string) []string {
	b.t.Helper()
	return eval[[]string](b, "[...document.querySelectorAll("+encoded(selector)+")].map((e) => e.innerText)")
}

// count returns the number of elements of a selector.
func (b *tab) count(selector string) int {
	b.t.Helper()
	return eval[int](b, "document.querySelectorAll("+encoded(selector)+").length")
}

// has waits until the first element of a selector has a text.
func (b *tab) has(selector, text string) {
	b.t.Helper()
	b.wait("document.querySelector(" + encoded(selector) + ")?.innerText.includes(" + encoded(text) + ")")
}

// click clicks on the first element of a selector with the mouse.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// keys presses keys, wherever the focus is: letters, or those of package kb.
func (b *tab) keys(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// query types a query in place of the one that is in the box.
func (b *tab) query(text string) {
	b.t.Helper()
	eval[any](b, `document.querySelector("#q").select()`) // which focuses it
	b.keys(text)
}

// search types a query, and waits for its hits.
func (b *tab) search(text string) {
	b.t.Helper()
	b.query(text)
	b.settled()
}

// settled waits until the answer to the latest search is shown.
func (b *tab) settled() {
	b.t.Helper()
	b.wait(`document.querySelector("#results").ariaBusy !== "true"`)
}
