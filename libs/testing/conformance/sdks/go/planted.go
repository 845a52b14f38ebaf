package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	restate "github.com/restatedev/sdk-go"
)

// Handlers with a planted bug each. OUTSIDE is a folder that stands for the world outside: prices, and flags that an operator sets.

func outside(name string) string {
	return filepath.Join(os.Getenv("OUTSIDE"), name)
}

type secret struct {
	Password string `json:"password"`
}

type plan struct {
	Name string `json:"name"`
}

type profile struct {
	APIKey string `json:"apiKey"`
	Plan   *plan  `json:"plan,omitempty"`
}

func fill(ctx restate.ObjectContext, value profile) (restate.Void, error) {
	restate.Set(ctx, "profile", value)
	return restate.Void{}, nil
}

// Bug: a profile may be without a plan.
func bugOfState(ctx restate.ObjectContext, _ secret) (string, error) {
	value, err := restate.Get[profile](ctx, "profile")
	if err != nil {
		return "", err
	}
	return strings.ToUpper(value.Plan.Name), nil
}

// Bug: a price may have a decimal comma.
func bugOfStep(ctx restate.ObjectContext, _ secret) (int, error) {
	price, err := restate.Run(ctx, func(restate.RunContext) (string, error) {
		text, err := os.ReadFile(outside("price"))
		return string(text), err
	}, restate.WithName("price"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(price)
}

// Bug: a shelf may be empty.
func bugOfCall(ctx restate.ObjectContext, request secret) (string, error) {
	found, err := restate.Service[shelf](ctx, "Shelf", "list").Request(request)
	if err != nil {
		return "", err
	}
	return found.Items[0], nil
}

// Bug: the flag is read outside of a step.
func bugOfFlag(ctx restate.ObjectContext, _ secret) (string, error) {
	step := "reserve"
	if _, err := os.Stat(outside("flag")); err == nil {
		step = "refuse"
	}
	if _, err := restate.Run(ctx, func(restate.RunContext) (bool, error) { return true, nil }, restate.WithName(step)); err != nil {
		return "", err
	}
	return "", errors.New("the warehouse is closed")
}

var planted = restate.NewObject("Planted").
	Handler("fill", restate.NewObjectHandler(fill)).
	Handler("state", restate.NewObjectHandler(bugOfState)).
	Handler("step", restate.NewObjectHandler(bugOfStep)).
	Handler("call", restate.NewObjectHandler(bugOfCall)).
	Handler("flag", restate.NewObjectHandler(bugOfFlag))

type shelf struct {
	Items        []string `json:"items"`
	SessionToken string   `json:"sessionToken"`
}

func list(_ restate.Context, request secret) (shelf, error) {
	return shelf{Items: []string{}, SessionToken: request.Password}, nil
}

var shelves = restate.NewService("Shelf").Handler("list", restate.NewServiceHandler(list))
