//go:build !amd64 || purego

package analysis

const useMasks = false

func masksAVX2(dst *uint64, text *byte, blocks int, c *byte) {
	panic("BUG: analysis: no such instructions")
}
