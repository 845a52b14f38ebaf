package main

import (
	"fmt"

	restate "github.com/restatedev/sdk-go"
)

// Webhook receiver: one object per order. See ../src/webhook/services.ts for the explanation.

type orderEvent struct {
	Sequence int    `json:"sequence"`
	Status   string `json:"status"`
}

type customerNotice struct {
	Order string `json:"order"`
	orderEvent
}

// receive handles one event. The idempotency key of the request is the id of the event, so a repeated delivery starts nothing.
func receive(ctx restate.ObjectContext, event orderEvent) (restate.Void, error) {
	latest, err := restate.Get[*orderEvent](ctx, "latest")
	if err != nil {
		return restate.Void{}, err
	}
	if latest != nil && latest.Sequence >= event.Sequence {
		return restate.Void{}, nil // An older event that arrives late.
	}
	order := restate.Key(ctx)
	key := fmt.Sprintf("%s/%d", order, event.Sequence)
	if _, err := callOutside[done](ctx, "notify the customer", "customers/notify", key, customerNotice{order, event}); err != nil {
		return restate.Void{}, err
	}
	restate.Set(ctx, "latest", event)
	return restate.Void{}, nil
}

func status(ctx restate.ObjectSharedContext, _ restate.Void) (string, error) {
	latest, err := restate.Get[*orderEvent](ctx, "latest")
	if err != nil || latest == nil {
		return "unknown", err
	}
	return latest.Status, nil
}

var orderEvents = restate.NewObject("OrderEvents").
	Handler("receive", restate.NewObjectHandler(receive)).
	Handler("status", restate.NewObjectSharedHandler(status))
