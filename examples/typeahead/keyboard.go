package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Keys that are no text, as terminals send them.
const (
	ctrlC  = 3
	ctrlD  = 4
	tab    = '\t'
	escape = 27
	erase  = 127
)

// keyboard answers each key until Ctrl-C, Ctrl-D or the end of the input. Backspace takes a character
// away, and Tab takes the first completion.
func (b *box) keyboard(ctx context.Context, in io.Reader, w io.Writer) error {
	keys := bufio.NewReader(in)
	typed := ""
	for {
		start := time.Now()
		a, err := b.answer(ctx, typed, 8)
		if err != nil {
			return err
		}
		if err := draw(w, typed, a, time.Since(start)); err != nil {
			return err
		}
		key, _, err := keys.ReadRune()
		switch {
		case err == io.EOF || key == ctrlC || key == ctrlD:
			_, err := io.WriteString(w, "\r\n")
			return err
		case err != nil:
			return err
		case key == tab && len(a.completions) > 0:
			typed = typed[:len(typed)-len(lastWord(typed))] + a.completions[0] + " "
		case (key == erase || key == '\b') && typed != "":
			_, size := utf8.DecodeLastRuneInString(typed)
			typed = typed[:len(typed)-size]
		case key == escape && keys.Buffered() > 0:
			if err := skipSequence(keys); err != nil {
				return err
			}
		case unicode.IsPrint(key):
			typed += string(key)
		}
	}
}

// skipSequence reads what follows the escape of a key that is no character, such as "[A" of an arrow.
func skipSequence(keys *bufio.Reader) error {
	b, err := keys.ReadByte()
	if err == nil && (b == '[' || b == 'O') {
		for b, err = keys.ReadByte(); err == nil && b < '@'; {
			b, err = keys.ReadByte()
		}
	}
	if err == io.EOF {
		return nil // the next read returns it again
	}
	return err
}

// draw shows the line, what it found, and leaves the cursor behind the line.
func draw(w io.Writer, typed string, a answer, took time.Duration) error {
	var s strings.Builder
	s.WriteString("\x1b[H\x1b[2J\r\n\r\n")
	fmt.Fprintf(&s, "  %s\r\n\r\n", strings.Join(a.completions, "  "))
	for _, h := range a.hits {
		fmt.Fprintf(&s, "%s\r\n    %s\r\n", h.id, strings.ReplaceAll(h.snippet, "\n", " "))
	}
	fmt.Fprintf(&s, "\r\n%.1f ms. Tab completes, Ctrl-C ends.", float64(took.Microseconds())/1000)
	fmt.Fprintf(&s, "\x1b[H> %s", typed)
	_, err := io.WriteString(w, s.String())
	return err
}
