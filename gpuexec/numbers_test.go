package gpuexec

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// TestNumbers compares the numbers of this package with their equivalents in the source of kernels.
func TestNumbers(t *testing.T) {
	defaults := Shape{}.withDefaults()
	want := map[string]uint64{
		"missing": uint64(missingRow), "unneeded": uint64(unneededRow),
		"max_terms": maxTerms, "range_terms": maxRangeTerms, "extent_blocks": postings.ExtentBlocks,
		"seeds": seedTiles, "seed_pieces": seedPieces, "strips": tileStrips, "cells": stripCells,
		"slice_unit": sliceUnit, "fetch_unit": fetchUnit,
		"by_or_tiles": uint64(byOrTiles), "by_and_tiles": uint64(byAndTiles), "by_lead_blocks": uint64(byLeadBlocks),
		"no_bounds": uint64(noBounds), "list_bounds": uint64(listBounds), "block_bounds": uint64(blockBounds),
		"range_or": uint64(rangeOr), "range_bmw": uint64(rangeBMW),
		"mode_or": uint64(blockmax.Or), "mode_and": uint64(blockmax.And), "mode_and_or": uint64(blockmax.AndOr),
		"packed": uint64(postings.Packed), "bitset": uint64(postings.Bitset), "run": uint64(postings.Run),
		"pfor": uint64(postings.PFor), "rice": uint64(postings.Rice),
		"adders": flatAdders, "slots": flatSlots, "flat_threads": flatThreads,
		"rounded_adders": roundedAdders, "rounded_ahead": roundedAhead, "rounded_threads": roundedThreads,
		"tile_threads":     uint64(defaults.TileThreads),
		"sizeof(TileList)": tileListBytes, "sizeof(Fixed)": fixedBytes,
	}
	var text strings.Builder
	for _, pattern := range []string{"kernels/*.cu*", "baselines/*.cu"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, f := range files {
			source, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(source)
		}
	}
	got := map[string]uint64{"rank_tile_shift": 0}
	for _, m := range regexp.MustCompile(`(?m)^const uint32_t (\w+ = [^;]*);`).FindAllStringSubmatch(text.String(), -1) {
		for _, one := range strings.Split(m[1], ", ") {
			name, value, _ := strings.Cut(one, " = ")
			if n, err := evaluate(value, got); err == nil {
				got[name] = n
			} else if _, wanted := want[name]; wanted {
				t.Errorf("%s = %s: %v", name, value, err)
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^static_assert\((sizeof\(\w+\)) == (\d+),`).FindAllStringSubmatch(text.String(), -1) {
		got[m[1]], _ = evaluate(m[2], nil)
	}
	for name, n := range want {
		if found, ok := got[name]; !ok || found != n {
			t.Errorf("kernels have %s = %d (there: %v), and this package %d", name, found, ok, n)
		}
	}
	if 1<<got["rank_tile_shift"] != blockmax.TileDocs {
		t.Errorf("rank_tile_shift is %d, and blockmax.TileDocs %d", got["rank_tile_shift"], blockmax.TileDocs)
	}
}

// evaluate is the value of a C expression of numbers and known names.
func evaluate(text string, known map[string]uint64) (uint64, error) {
	text = regexp.MustCompile(`~0u`).ReplaceAllString(text, "0xffffffff")
	text = regexp.MustCompile(`\b(\d+)u\b`).ReplaceAllString(text, "$1")
	text = regexp.MustCompile(`\b[a-z]\w*`).ReplaceAllStringFunc(text, func(name string) string {
		if n, ok := known[name]; ok {
			return fmt.Sprint(n)
		}
		return name
	})
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	if err != nil {
		return 0, err
	}
	n, exact := constant.Uint64Val(constant.ToInt(v.Value))
	if !exact {
		return 0, fmt.Errorf("%v is not an unsigned number of 64 bits", v.Value)
	}
	return n, nil
}
