// Package postings keeps one posting list as blocks of bytes.
package postings
