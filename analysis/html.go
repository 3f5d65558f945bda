package analysis

import (
	"bytes"
	"html"
	"strings"
	"unicode/utf8"
)

// HTMLStrip is a CharFilter that leaves the text of HTML: it removes tags and comments, and the
// contents of script and style, and resolves character references. Tags that only mark up words
// disappear (<b>w</b>ord is one word); all others become a space. It takes any text, and treats a <
// that begins no tag as a character.
type HTMLStrip struct{}

// inlineTags are the elements within which a word may go on.
var inlineTags = map[string]bool{
	"a": true, "abbr": true, "acronym": true, "b": true, "bdi": true, "bdo": true, "big": true, "cite": true,
	"code": true, "data": true, "del": true, "dfn": true, "em": true, "font": true, "i": true, "ins": true,
	"kbd": true, "mark": true, "q": true, "s": true, "samp": true, "small": true, "span": true, "strike": true,
	"strong": true, "sub": true, "sup": true, "time": true, "tt": true, "u": true, "var": true, "wbr": true,
}

// Edit implements CharFilter.
func (HTMLStrip) Edit(text []byte, e *Edits) {
	h := htmlScan{none: map[string]bool{}, budget: len(text)}
	for i := 0; i < len(text); {
		n := bytes.IndexAny(text[i:], "<&")
		if n < 0 {
			return
		}
		i += n
		end, with := i, ""
		if text[i] == '&' {
			end, with = reference(text, i)
		} else {
			end, with = h.markup(text, i)
		}
		if end > i {
			e.Replace(i, end, []byte(with))
			i = end
		} else {
			i++
		}
	}
}

// An htmlScan is one pass over a text. Its members keep the pass linear whatever is unclosed.
type htmlScan struct {
	none   map[string]bool // ends that the rest of the text does not have
	budget int             // how much more may be read of tags that turn out to have no end
}

// maxReference is the longest name of a character reference, with & and ;.
const maxReference = 34

// reference returns the end of the character reference at text[i], and what it stands for; or i.
func reference(text []byte, i int) (end int, with string) {
	end = i + 1
	for end < len(text) && end-i < maxReference && isNameByte(text[end]) {
		end++
	}
	if end < len(text) && text[end] == ';' {
		end++
	}
	source := string(text[i:end])
	if with = html.UnescapeString(source); with == source || !utf8.ValidString(with) {
		return i, ""
	}
	return end, with
}

func isNameByte(c byte) bool {
	return c == '#' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// markup returns the end of the tag, comment or declaration at text[i], and what stands for it; or
// i.
func (h *htmlScan) markup(text []byte, i int) (end int, with string) {
	rest := text[i:]
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		return i + h.until(rest, "-->"), " "
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		return i + len("<![CDATA["), ""
	case bytes.HasPrefix(rest, []byte("<!")), bytes.HasPrefix(rest, []byte("<?")):
		return i + h.until(rest, ">"), " "
	}
	at := 1
	closing := at < len(rest) && rest[at] == '/'
	if closing {
		at++
	}
	begin := at
	for at < len(rest) && (isNameByte(rest[at]) || rest[at] == '-' || rest[at] == ':') && at-begin < maxReference {
		at++
	}
	if at == begin || rest[begin]|0x20 < 'a' || rest[begin]|0x20 > 'z' {
		return i, ""
	}
	name := strings.ToLower(string(rest[begin:at]))
	if at = h.tagEnd(rest, at); at == 0 {
		return i, ""
	}
	if inlineTags[name] {
		return i + at, ""
	}
	if !closing && (name == "script" || name == "style") {
		if n := h.until(rest[at:], "</"+name); n > 0 {
			at += n - len("</"+name)
		}
	}
	return i + at, " "
}

// until returns the end of the first occurrence of an ASCII string, in either case, or 0.
func (h *htmlScan) until(text []byte, end string) int {
	if h.none[end] {
		return 0
	}
	for i := 0; ; {
		n := bytes.IndexByte(text[i:], end[0])
		if n < 0 || i+n+len(end) > len(text) {
			h.none[end] = true
			return 0
		}
		if i += n; strings.EqualFold(string(text[i:i+len(end)]), end) {
			return i + len(end)
		}
		i++
	}
}

// tagEnd returns the end of a tag whose attributes begin at text[at], or 0. Values in quotes may
// have a > or a <, unless the quote is not closed.
func (h *htmlScan) tagEnd(text []byte, at int) int {
	begin, quotes := at, h.budget > 0
	for ; at < len(text); at++ {
		switch c := text[at]; {
		case c == '>':
			return at + 1
		case c == '<':
			h.budget -= at - begin
			return 0
		case (c == '"' || c == '\'') && quotes && bytes.HasSuffix(bytes.TrimRight(text[begin:at], " \t\r\n"), []byte("=")):
			at += h.until(text[at+1:], string(c))
		}
	}
	h.budget -= at - begin
	return 0
}
