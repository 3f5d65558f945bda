package geo

import (
	"fmt"
	"strings"
)

// MaxGeohash is how many characters of a geohash a key has.
const MaxGeohash = 12

// alphabet has the characters of geohashes, of 5 bits each.
const alphabet = "0123456789bcdefghjkmnpqrstuvwxyz"

// Geohash returns the geohash of a key, of 1 to MaxGeohash characters.
func Geohash(key uint64, precision int) string {
	var hash [MaxGeohash]byte
	for i := range precision {
		hash[i] = alphabet[key>>(59-5*i)&31]
	}
	return string(hash[:precision])
}

// GeohashKeys returns the least and the greatest key of the cell of a geohash, of 1 to MaxGeohash
// characters, in either case.
func GeohashKeys(hash string) (least, greatest uint64, err error) {
	if len(hash) == 0 || len(hash) > MaxGeohash {
		return 0, 0, fmt.Errorf("geohash %q does not have 1 to %d characters", hash, MaxGeohash)
	}
	for i, r := range strings.ToLower(hash) {
		v := strings.IndexRune(alphabet, r)
		if v < 0 {
			return 0, 0, fmt.Errorf("geohash %q has %q, which no geohash has", hash, r)
		}
		least |= uint64(v) << (59 - 5*i)
	}
	return least, least | (1<<(64-5*len(hash)) - 1), nil
}

// GeohashBox returns the box of the cell of a geohash.
func GeohashBox(hash string) (Box, error) {
	least, greatest, err := GeohashKeys(hash)
	return BoxOf(least, greatest), err
}
