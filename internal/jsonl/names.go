package jsonl

import "slices"

// A nameSet holds the names of one document. A few names, the usual case, are compared linearly;
// many are hashed, so that a hostile line does not cost quadratic time.
type nameSet struct {
	list []string
	hash map[string]struct{} // the same names, once there are more than fewNames
}

const fewNames = 16

// add reports whether the name is new.
func (s *nameSet) add(name string) bool {
	if len(s.list) < fewNames {
		if slices.Contains(s.list, name) {
			return false
		}
		s.list = append(s.list, name)
		return true
	}
	if len(s.list) == fewNames {
		s.hash = make(map[string]struct{}, 2*fewNames)
		for _, n := range s.list {
			s.hash[n] = struct{}{}
		}
	}
	if _, dup := s.hash[name]; dup {
		return false
	}
	s.hash[name] = struct{}{}
	s.list = append(s.list, name)
	return true
}

func (s *nameSet) len() int { return len(s.list) }

func (s *nameSet) reset() { s.list, s.hash = s.list[:0], nil }
