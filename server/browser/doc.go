// Package browser tests the page of the server in a browser.
//
// The tests drive Chromium without a window, over indexes of real text: passages of the Gutenberg corpus (see
// RIFFLE_CORPORA in CONTRIBUTING.md), or else of Go's standard library. They use the page as people do, by keyboard
// and by mouse, and look at what the browser shows and at what it tells a screen reader.
//
//	cd server/browser && go test ./...
//	RIFFLE_SCREENSHOTS=/tmp/shots go test -run Screenshots .      # pictures of every view
//	RIFFLE_PICTURE=../../docs/page.png go test -run Picture .     # the picture of the README
//
// Whatever a test does, it fails when the page writes an error to the console, breaks its content security policy, or
// sends a request to another host.
//
// The module stands apart from the repository's workspace, like bench: programs that use the server do not download
// what drives a browser.
package browser
