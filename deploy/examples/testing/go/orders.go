// Package orders has a workflow that reminds a customer after three days.
package orders

import (
	"time"

	restate "github.com/restatedev/sdk-go"
)

func run(ctx restate.WorkflowContext, items int) (int, error) {
	if _, err := restate.Run(ctx, func(restate.RunContext) (string, error) { return "reserved", nil }, restate.WithName("reserve")); err != nil {
		return 0, err
	}
	if err := restate.Sleep(ctx, 72*time.Hour); err != nil {
		return 0, err
	}
	if _, err := restate.Run(ctx, func(restate.RunContext) (string, error) { return "reminded", nil }, restate.WithName("remind")); err != nil {
		return 0, err
	}
	return items, nil
}

// Orders is the definition that the endpoint serves.
var Orders = restate.NewWorkflow("Orders").Handler("run", restate.NewWorkflowHandler(run))
