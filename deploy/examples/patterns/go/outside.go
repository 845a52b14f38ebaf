package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	restate "github.com/restatedev/sdk-go"
)

const responseBytesMax = 1 << 20

// callOutside sends one request to a system outside of Perdure, action for example bank/charge, as a step with a name. In your project it is
// the client of the real system. The system performs the action once per key: a step may run again when a crash prevents its result from
// being stored, so every request that changes something needs a key.
//
// It fails with a terminal error when the system refuses (4xx), so that the handler fails; any other error is retried by Perdure.
func callOutside[T any](ctx restate.Context, step, action, key string, body any) (T, error) {
	return restate.Run(ctx, func(run restate.RunContext) (T, error) {
		var result T
		encoded, err := json.Marshal(body)
		if err != nil {
			return result, err
		}
		request, err := http.NewRequestWithContext(run, http.MethodPost, os.Getenv("OUTSIDE_URL")+"/"+action, bytes.NewReader(encoded))
		if err != nil {
			return result, err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", key)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return result, err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(io.LimitReader(response.Body, responseBytesMax))
		if err != nil {
			return result, err
		}
		if response.StatusCode >= 400 && response.StatusCode < 500 {
			return result, restate.ToTerminalError(fmt.Errorf("%s", text), restate.WithErrorCode(restate.Code(response.StatusCode)))
		}
		if response.StatusCode != http.StatusOK {
			return result, fmt.Errorf("%s responded %d: %s", action, response.StatusCode, text)
		}
		return result, json.Unmarshal(text, &result)
	}, restate.WithName(step))
}

// done is the result of a request whose response has nothing of interest.
type done struct{}
