package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A PlaceShape is a part of the Earth, as a query has it:
//
//	distance LAT LON METRES    at most so far from a point, on a sphere
//	box SOUTH WEST NORTH EAST  between two latitudes and two longitudes; a WEST above EAST is over the date line
//	polygon LAT LON LAT LON …  three corners or more, which do not go over the date line
//
// All but METRES are degrees.
type PlaceShape struct {
	Kind    string
	Numbers []float64
}

// A ScoreFunction changes the score of the word, or the 1 that every document has of *:
//
//	MODE log1p FACTOR              ln(1 + FACTOR × the value of the column)
//	MODE gauss ORIGIN SCALE        0.5 to the power of (distance of the column from ORIGIN ÷ SCALE)²
//	MODE gauss LAT LON METRES      the same of a column of places
//
// The mode is sum (score + value), multiply (score × value) or replace (the value alone).
type ScoreFunction struct {
	Mode, Kind string
	Numbers    []float64
}

// Place reads a value of a column of places.
func Place(text string) (lat, lon float64, err error) {
	first, second, _ := strings.Cut(text, ",")
	if lat, err = strconv.ParseFloat(first, 64); err == nil {
		lon, err = strconv.ParseFloat(second, 64)
	}
	return lat, lon, err
}

func parsePlaceQuery(mode string, words []string) (q ColumnQuery, err error) {
	kinds := map[string]int{"within": 1, "inside": 1, "score": 2}[mode] // words that are no numbers
	if len(words) < 2+kinds {
		return q, fmt.Errorf("query %q is none of the mode %q", words, mode)
	}
	q.Word, q.Column = words[0], words[1]
	kind := words[1+kinds]
	numbers := make([]float64, 0, len(words))
	for _, word := range words[2+kinds:] {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return q, err
		}
		numbers = append(numbers, v)
	}
	n, ok := len(numbers), true
	switch {
	case mode == "nearest":
		ok, q.Shape = n == 2, PlaceShape{"", numbers}
	case mode == "score":
		q.Score = ScoreFunction{words[2], kind, numbers}
		ok = slices.Contains([]string{"sum", "multiply", "replace"}, words[2]) &&
			(kind == "log1p" && n == 1 || kind == "gauss" && (n == 2 || n == 3))
	default:
		q.Shape = PlaceShape{kind, numbers}
		ok = kind == "distance" && n == 3 || kind == "box" && n == 4 || kind == "polygon" && n >= 6 && n%2 == 0
	}
	if !ok {
		return q, fmt.Errorf("query %q is none of the mode %q", words, mode)
	}
	return q, nil
}
