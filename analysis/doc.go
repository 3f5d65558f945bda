// Package analysis turns text into the terms that are indexed and searched.
package analysis
