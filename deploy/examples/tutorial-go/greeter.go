package main

import (
	"time"

	restate "github.com/restatedev/sdk-go"
)

// step runs an effect once and stores that it happened.
func step(ctx restate.Context, name, line string) error {
	return restate.RunVoid(ctx, func(restate.RunContext) error { return effect(line) }, restate.WithName(name))
}

// greet is `POST /Greeter/greet` with a name.
func greet(ctx restate.Context, name string) (string, error) {
	if err := step(ctx, "write the card", "write the card for "+name); err != nil {
		return "", err
	}
	if err := restate.Sleep(ctx, 5*time.Second); err != nil {
		return "", err
	}
	if err := step(ctx, "send the card", "send the card to "+name); err != nil {
		return "", err
	}
	return "Hello " + name + "!", nil
}

var greeter = restate.NewService("Greeter").Handler("greet", restate.NewServiceHandler(greet))
