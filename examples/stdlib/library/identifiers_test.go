package library

import (
	"fmt"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/analysis"
)

func TestIdentifiers(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"x", "0:x"},
		{"WithCancel", "0:with 0:withcancel 1:cancel"},
		{"ServeHTTP, HTTPServer", "0:serv 0:servehttp 1:http 2:http 2:httpserver 3:server"},
		{"sha256Sum", "0:sha256 0:sha256sum 1:sum"},
		{"_A__max_int _", "0:a 0:a__max_int 1:max 2:int"},
		{"x.Canceled()", "0:x 1:cancel"},
		{"straßeÄrger", "0:straße 0:straßeärg 1:ärger"},
		{"\xffa\xffb", "0:a 1:b"},
	} {
		var got []string
		for tok := range analysis.Tokens(goAnalyzer, c.text) {
			got = append(got, fmt.Sprintf("%d:%s", tok.Position, tok.Term))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q: %s, want %s", c.text, s, c.want)
		}
	}
}
