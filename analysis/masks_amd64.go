//go:build !purego

package analysis

import (
	"golang.org/x/sys/cpu"

	"github.com/riffle-search/riffle/internal/impl"
)

//go:generate env GOWORK=off go run -C _asm . -out ../masks_amd64.s -pkg analysis

// useMasks is set if words are found by masks of 64 characters.
var useMasks = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2

func init() { impl.Register("analysis", "avx2", &useMasks) }

// masksAVX2 writes the masks of the given number of blocks (at least one) of 64 characters. dst
// points to that many textMasks and c to charClasses; avo does not know their fields.
//
//go:noescape
func masksAVX2(dst *uint64, text *byte, blocks int, c *byte)
