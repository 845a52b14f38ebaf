package main

import (
	restate "github.com/restatedev/sdk-go"
)

// Saga: several bookings in several systems, all or none. See ../src/saga/services.ts for the explanation.

type trip struct {
	Traveller string `json:"traveller"`
	From      string `json:"from"`
	To        string `json:"to"`
}

type booking struct {
	Reference string `json:"reference"`
}

// book returns the references of flight, car and hotel, or cancels what was booked before the refusal.
func book(ctx restate.Context, request trip) (references []string, err error) {
	type begun struct{ system, key string }
	var compensations []begun
	defer func() {
		if err == nil || !restate.IsTerminalError(err) {
			return // Success, or a retry follows; nothing is compensated.
		}
		for index := len(compensations) - 1; index >= 0; index-- {
			one := compensations[index]
			if _, failure := callOutside[done](ctx, "cancel "+one.system, one.system+"/cancel", one.key, map[string]string{"key": one.key}); failure != nil {
				err = failure
				return
			}
		}
	}()
	for _, system := range []string{"flights", "cars", "hotels"} {
		key := restate.UUID(ctx).String() // The same value in every attempt: the system recognizes a repeated request.
		compensations = append(compensations, begun{system, key})
		booked, err := callOutside[booking](ctx, "book "+system, system+"/book", key, request)
		if err != nil {
			return nil, err
		}
		references = append(references, booked.Reference)
	}
	return references, nil
}

var tripBooking = restate.NewService("TripBooking").Handler("book", restate.NewServiceHandler(book))
