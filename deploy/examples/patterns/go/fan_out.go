package main

import (
	restate "github.com/restatedev/sdk-go"
)

// Fan-out and fan-in. See ../src/fan-out/services.ts for the explanation.

type words struct {
	Words int `json:"words"`
}

// countPage returns the number of words of one page.
func countPage(ctx restate.Context, page string) (int, error) {
	counted, err := callOutside[words](ctx, "count the words", "pages/count", page, map[string]string{"page": page})
	return counted.Words, err
}

// countBook returns the number of words of all pages, which are counted at the same time.
func countBook(ctx restate.Context, pages []string) (int, error) {
	calls := make([]restate.ResponseFuture[int], 0, len(pages))
	for _, page := range pages {
		calls = append(calls, restate.Service[int](ctx, "PageCounter", "count").RequestFuture(page))
	}
	sum := 0
	for _, call := range calls {
		count, err := call.Response()
		if err != nil {
			return 0, err
		}
		sum += count
	}
	return sum, nil
}

var pageCounter = restate.NewService("PageCounter").Handler("count", restate.NewServiceHandler(countPage))
var bookCounter = restate.NewService("BookCounter").Handler("count", restate.NewServiceHandler(countBook))
