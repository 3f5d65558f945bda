package main

import (
	"fmt"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
)

// algorithms returns the algorithms that differ from one another in a mode.
func algorithms(mode blockmax.Mode) []gpuexec.Algorithm {
	switch mode {
	case asTree:
		return []gpuexec.Algorithm{gpuexec.MaxScore, gpuexec.Exhaustive}
	case blockmax.And:
		return []gpuexec.Algorithm{gpuexec.Auto, gpuexec.Exhaustive, gpuexec.Rounds, gpuexec.Ranges}
	}
	return []gpuexec.Algorithm{
		gpuexec.MaxScore, gpuexec.Exhaustive, gpuexec.BMW, gpuexec.WAND, gpuexec.Rounds, gpuexec.Ranges, gpuexec.RangesWAND, gpuexec.RangesBMW,
	}
}

// mode measures queries of one mode: first what matters most, k = 10 and large batches.
func (b *bench) mode(mode blockmax.Mode) error {
	part := modeNames[mode]
	typical := b.typicalK()
	for _, k := range append([]int{typical}, b.k...) {
		for _, a := range []cpuexec.Algorithm{cpuexec.Auto, cpuexec.Exhaustive} {
			if !b.cpu || a == cpuexec.Exhaustive && k != typical && k != b.k[len(b.k)-1] {
				continue // it takes long, whatever k is
			}
			if err := b.measureCPU(part, plans{mode, k}, a); err != nil {
				return err
			}
		}
		for _, a := range algorithms(mode) {
			if err := b.batched(part, plans{mode, k}, a, b.batch[len(b.batch)-1]); err != nil {
				return err
			}
		}
	}
	for _, size := range b.batch {
		for _, a := range algorithms(mode)[:2] {
			if err := b.batched(part, plans{mode, typical}, a, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// modesOf returns the forms of queries that the flag names.
func modesOf(forms words) (modes []blockmax.Mode, err error) {
	for _, form := range forms {
		n := len(modes)
		for mode, name := range modeNames {
			if name == form {
				modes = append(modes, mode)
			}
		}
		if len(modes) == n {
			return nil, fmt.Errorf("-forms: there is no form %q", form)
		}
	}
	return modes, nil
}

// batched measures an algorithm in all shapes of the flags.
func (b *bench) batched(part string, p plans, a gpuexec.Algorithm, size int) error {
	if !b.wants(a) {
		return nil
	}
	whole := b.shape
	defer func() { b.shape = whole }()
	for _, s := range b.stripShapes() {
		b.shape = s.of(whole)
		name := fmt.Sprintf("%v gpu/%v batch=%d%v", p, a, size, s)
		if b.trace {
			name += " traced"
		}
		if err := b.measureGPU(part, name, p, gpuexec.Options{Algorithm: a, Traced: b.trace}, size); err != nil {
			return err
		}
	}
	return nil
}

// A stripShape is how queries go by strips; 0 is a default.
type stripShape struct{ tiles, hits, room, whole int }

// stripShapes returns all combinations of the flags.
func (s *settings) stripShapes() (all []stripShape) {
	for _, tiles := range s.stripTiles.numbers {
		for _, hits := range s.appendHits.numbers {
			for _, room := range s.appendRoom {
				for _, whole := range s.wholeStrips {
					all = append(all, stripShape{tiles, hits, room, whole})
				}
			}
		}
	}
	return all
}

// of returns a shape with these settings.
func (s stripShape) of(shape gpuexec.Shape) gpuexec.Shape {
	shape.StripTiles, shape.AppendHits, shape.AppendRoom, shape.WholeStrips = s.tiles, s.hits, s.room, s.whole
	return shape
}

// String names what is not by default.
func (s stripShape) String() (name string) {
	for _, of := range []struct {
		what string
		n    int
	}{{"strip-tiles", s.tiles}, {"append-hits", s.hits}, {"append-room", s.room}, {"whole-strips", s.whole}} {
		if of.n != 0 {
			name += fmt.Sprintf(" %s=%d", of.what, of.n)
		}
	}
	return name
}

// typicalK is 10, or the first k of -k.
func (b *bench) typicalK() int {
	for _, k := range b.k {
		if k == 10 {
			return k
		}
	}
	return b.k[0]
}

// huang measures the ranges of Huang 2017 by P, the threads of a query.
func (b *bench) huang() error {
	k, size := b.typicalK(), b.batch[len(b.batch)-1]
	for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
		all := []gpuexec.Algorithm{gpuexec.Ranges, gpuexec.RangesWAND, gpuexec.RangesBMW}
		if mode == blockmax.And {
			all = all[:1]
		}
		for _, a := range all {
			for _, threads := range b.threads {
				if !b.wants(a) {
					continue
				}
				p := plans{mode, k}
				o := gpuexec.Options{Algorithm: a, Shape: gpuexec.Shape{RangeThreads: threads}}
				if err := b.measureGPU("huang", fmt.Sprintf("%v %v P=%d", p, a, threads), p, o, size); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
