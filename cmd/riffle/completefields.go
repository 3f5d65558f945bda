package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// searchable returns the fields of the index in --db that can be searched; none if it cannot be read
// now.
func searchable(c *cobra.Command) []string {
	dir, err := c.Flags().GetString("db")
	if err != nil || dir == "" {
		return nil
	}
	e, err := openToRead(dir)
	if err != nil {
		return nil
	}
	defer e.Close()
	var names []string
	for name, f := range e.Schema().Fields {
		if !f.NoIndex {
			names = append(names, name)
		}
	}
	if st, err := e.Stats(); err == nil {
		for _, f := range st.Fields {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// complete returns all that begins like the last part of a word, with what comes before it. The part
// begins behind the last of some characters.
func complete(names []string, word, after, end string) []string {
	begin := strings.LastIndexAny(word, after) + 1
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, word[begin:]) && !strings.ContainsAny(name, " :\"") {
			found = append(found, word[:begin]+name+end)
		}
	}
	return found
}

// completeFields completes --field, of which the names are separated by commas.
func completeFields(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return complete(searchable(c), word, ",", ""), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeFilter completes --filter.
func completeFilter(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return complete(searchable(c), word, "", "="), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeQuery completes the name of a field in a query: at its beginning, and behind a sign, a comma,
// a space or a parenthesis.
func (s *searchCommand) completeQuery(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return complete(searchable(c), word, "+-, (", ":"), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
