package remote

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/riffle-search/riffle"
)

// A value is a stored value or a key of the order, with its type. In JSON:
//
//	nil, bool          null, true
//	string             "text"; {"b": "BASE64"} if it is not UTF-8
//	int64              1851; -7
//	float64            1851.0; 1e-7; {"f": "NaN"}, {"f": "+Inf"}, {"f": "-Inf"}
//	uint64             {"u": "18446744073709551615"}
//	time.Time          {"t": "1851-10-18T00:00:00Z"}
//	riffle.Point       {"p": [52.52, 13.405]}
//	[]any              [...]
type value struct{ of any }

// typed is a value that is an object in JSON.
type typed struct {
	Bytes  *string     `json:"b,omitempty"`
	Float  *string     `json:"f,omitempty"`
	Uint64 *string     `json:"u,omitempty"`
	Time   *time.Time  `json:"t,omitempty"`
	Point  *[2]float64 `json:"p,omitempty"`
}

func (v value) MarshalJSON() ([]byte, error) { return appendValue(nil, v.of) }

func appendValue(dst []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return appendFloat(dst, v)
	case uint64:
		text := strconv.FormatUint(v, 10)
		return appendJSON(dst, typed{Uint64: &text})
	case string:
		if utf8.ValidString(v) {
			return appendJSON(dst, v)
		}
		text := base64.StdEncoding.EncodeToString([]byte(v))
		return appendJSON(dst, typed{Bytes: &text})
	case time.Time:
		return appendJSON(dst, typed{Time: &v})
	case riffle.Point:
		return appendJSON(dst, typed{Point: &[2]float64{v.Lat, v.Lon}})
	case []any:
		dst = append(dst, '[')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendValue(dst, v[i]); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	}
	return dst, fmt.Errorf("remote: a value of type %T", v)
}

func appendFloat(dst []byte, x float64) ([]byte, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		text := strconv.FormatFloat(x, 'g', -1, 64)
		return appendJSON(dst, typed{Float: &text})
	}
	begin := len(dst)
	dst = strconv.AppendFloat(dst, x, 'g', -1, 64)
	if !bytes.ContainsAny(dst[begin:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst, nil
}

func appendJSON(dst []byte, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

func (v *value) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var raw any
	if err := d.Decode(&raw); err != nil {
		return err
	}
	of, err := valueOf(raw)
	v.of = of
	return err
}

func valueOf(raw any) (any, error) {
	switch raw := raw.(type) {
	case nil, bool, string:
		return raw, nil
	case json.Number:
		if text := raw.String(); strings.ContainsAny(text, ".eE") {
			return strconv.ParseFloat(text, 64)
		}
		return strconv.ParseInt(raw.String(), 10, 64)
	case []any:
		list := make([]any, len(raw))
		for i := range raw {
			var err error
			if list[i], err = valueOf(raw[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		return typedValue(raw)
	}
	return nil, fmt.Errorf("remote: a value of type %T", raw)
}

func typedValue(raw map[string]any) (any, error) {
	text, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	var t typed
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, err
	}
	switch {
	case t.Bytes != nil:
		b, err := base64.StdEncoding.DecodeString(*t.Bytes)
		return string(b), err
	case t.Float != nil:
		return strconv.ParseFloat(*t.Float, 64)
	case t.Uint64 != nil:
		return strconv.ParseUint(*t.Uint64, 10, 64)
	case t.Time != nil:
		return *t.Time, nil
	case t.Point != nil:
		return riffle.Point{Lat: t.Point[0], Lon: t.Point[1]}, nil
	}
	return nil, fmt.Errorf("remote: %s is no value", text)
}
