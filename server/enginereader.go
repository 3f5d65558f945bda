package server

import (
	"context"

	"github.com/riffle-search/riffle"
)

// An engineReader is a Reader of an engine. What has been acknowledged is visible there: all reads are linearizable, and
// changes have no tokens.
type engineReader struct{ *riffle.Engine }

// checked refuses a token.
func (e engineReader) checked(r Reading) error {
	if r.Token == "" {
		return nil
	}
	f := kindRequest.fault("this index is on one machine and gives no tokens: reads see all changes that have been answered")
	f.Part = "token"
	return f
}

func (e engineReader) ParseQuery(_ context.Context, text string, o *riffle.ParseOptions, _ Reading) (riffle.Query, error) {
	o.Engine = e.Engine
	if len(o.Fields) == 0 {
		list, err := e.Fields()
		if err != nil {
			return nil, err
		}
		o.Fields = []string{} // there may be no text yet
		for _, f := range list {
			if f.Norms { // of texts alone
				o.Fields = append(o.Fields, f.Name)
			}
		}
	}
	return riffle.ParseQuery(text, o)
}

func (e engineReader) Document(ctx context.Context, id string, r Reading) (riffle.Document, error) {
	if err := e.checked(r); err != nil {
		return riffle.Document{}, err
	}
	return e.Engine.Document(ctx, id)
}

func (e engineReader) Search(ctx context.Context, q riffle.Query, o *SearchOptions) (*Found, error) {
	if err := e.checked(o.Reading); err != nil {
		return nil, err
	}
	options := o.SearchOptions
	var err error
	if options.After, err = riffle.ParseCursor(string(o.After)); err != nil {
		f := kindRequest.caused(err)
		f.Part = "after"
		return nil, f
	}
	res, err := e.Engine.Search(ctx, q, &options)
	if res == nil {
		return nil, err
	}
	return &Found{Result: res}, err
}

func (e engineReader) Count(ctx context.Context, q riffle.Query, r Reading) (int, error) {
	if err := e.checked(r); err != nil {
		return 0, err
	}
	return e.Engine.Count(ctx, q)
}

func (e engineReader) Explain(ctx context.Context, q riffle.Query, id string, r Reading) (*riffle.Explanation, error) {
	if err := e.checked(r); err != nil {
		return nil, err
	}
	return e.Engine.Explain(ctx, q, id, nil)
}
