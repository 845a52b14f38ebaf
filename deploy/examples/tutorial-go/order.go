package main

import (
	"fmt"
	"time"

	restate "github.com/restatedev/sdk-go"
)

type orderRequest struct {
	Item               string `json:"item"`
	Amount             int    `json:"amount"`
	RemindAfterSeconds int    `json:"remindAfterSeconds"`
}

// runOrder is `POST /Order/{id}/run`: it runs once for each id.
func runOrder(ctx restate.WorkflowContext, request orderRequest) (string, error) {
	id := restate.Key(ctx)
	if err := step(ctx, "charge the card", fmt.Sprintf("charge %s %d", id, request.Amount)); err != nil {
		return "", err
	}
	restate.Set(ctx, "status", "waiting for approval")

	approved, err := isApproved(ctx, request)
	if err != nil {
		return "", err
	}
	status := "refunded"
	if approved {
		status = "shipped"
		err = step(ctx, "ship", fmt.Sprintf("ship %s %s", id, request.Item))
	} else {
		err = step(ctx, "refund", fmt.Sprintf("refund %s %d", id, request.Amount))
	}
	if err != nil {
		return "", err
	}
	restate.Set(ctx, "status", status)
	return id + ": " + status, nil
}

// isApproved waits for the decision as long as it takes, and reminds once.
func isApproved(ctx restate.WorkflowContext, request orderRequest) (bool, error) {
	decision := restate.Promise[bool](ctx, "decision")
	reminder := restate.After(ctx, time.Duration(request.RemindAfterSeconds)*time.Second)
	first, err := restate.WaitFirst(ctx, decision, reminder)
	if err != nil {
		return false, err
	}
	if first == reminder {
		if err := step(ctx, "remind", "remind "+restate.Key(ctx)); err != nil {
			return false, err
		}
	}
	return decision.Result()
}

// decide is `POST /Order/{id}/decide` with `true` or `false`: what the human says.
func decide(ctx restate.WorkflowSharedContext, approved bool) (restate.Void, error) {
	return restate.Void{}, restate.Promise[bool](ctx, "decision").Resolve(approved)
}

// orderStatus is `POST /Order/{id}/status`.
func orderStatus(ctx restate.WorkflowSharedContext, _ restate.Void) (string, error) {
	status, err := restate.Get[string](ctx, "status")
	if status == "" {
		status = "unknown"
	}
	return status, err
}

var order = restate.NewWorkflow("Order").
	Handler("run", restate.NewWorkflowHandler(runOrder)).
	Handler("decide", restate.NewWorkflowSharedHandler(decide)).
	Handler("status", restate.NewWorkflowSharedHandler(orderStatus))
