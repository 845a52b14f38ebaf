// The services of the scenarios (see ../README.md) with the Go SDK. Environment: PORT; MODE, "bidi" or "request-response";
// IDENTITY_KEY when requests must be signed.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/server"
)

// How often a piece of user code ran, by a name that the scenario chooses: what a journal must not repeat.
var runs = struct {
	sync.Mutex
	byName map[string]int
}{byName: map[string]int{}}

func ran(name string) int {
	runs.Lock()
	defer runs.Unlock()
	runs.byName[name]++
	return runs.byName[name]
}

func milliseconds(count int) time.Duration {
	return time.Duration(count) * time.Millisecond
}

// Handler names are lower case in every language; reflection would take the upper-case names of methods.

func greet(ctx restate.Context, name string) (string, error) {
	salutation, err := restate.Run(ctx, func(restate.RunContext) (string, error) { return "Hello", nil }, restate.WithName("salutation"))
	if err != nil {
		return "", err
	}
	mark, err := restate.Run(ctx, func(restate.RunContext) (string, error) { return "!", nil }, restate.WithName("mark"))
	if err != nil {
		return "", err
	}
	return salutation + " " + name + mark, nil
}

var greeter = restate.NewService("Greeter").Handler("greet", restate.NewServiceHandler(greet))

type walkRequest struct {
	ID      string `json:"id"`
	Count   int    `json:"count"`
	PauseMs int    `json:"pauseMs"`
}

func walk(ctx restate.Context, request walkRequest) ([]int, error) {
	seen := []int{}
	for range request.Count {
		run, err := restate.Run(ctx, func(restate.RunContext) (int, error) { return ran(request.ID), nil }, restate.WithName("step"))
		if err != nil {
			return nil, err
		}
		seen = append(seen, run)
		if err := restate.Sleep(ctx, milliseconds(request.PauseMs)); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func napAWhile(ctx restate.Context, ms int) (string, error) {
	if err := restate.Sleep(ctx, milliseconds(ms)); err != nil {
		return "", err
	}
	return "rested", nil
}

var steps = restate.NewService("Steps").
	Handler("walk", restate.NewServiceHandler(walk)).
	Handler("nap", restate.NewServiceHandler(napAWhile))

func add(ctx restate.ObjectContext, n int) (int, error) {
	sum, err := restate.Get[int](ctx, "count")
	if err != nil {
		return 0, err
	}
	restate.Set(ctx, "count", sum+n)
	return sum + n, nil
}

func label(ctx restate.ObjectContext, text string) (restate.Void, error) {
	restate.Set(ctx, "label", text)
	return restate.Void{}, nil
}

func reset(ctx restate.ObjectContext, _ restate.Void) (restate.Void, error) {
	restate.Clear(ctx, "count")
	return restate.Void{}, nil
}

func wipe(ctx restate.ObjectContext, _ restate.Void) (restate.Void, error) {
	restate.ClearAll(ctx)
	return restate.Void{}, nil
}

func get(ctx restate.ObjectSharedContext, _ restate.Void) (int, error) {
	return restate.Get[int](ctx, "count")
}

func keys(ctx restate.ObjectSharedContext, _ restate.Void) ([]string, error) {
	names, err := restate.Keys(ctx)
	if names == nil {
		names = []string{} // null would be another answer than [].
	}
	return names, err
}

var counter = restate.NewObject("Counter").
	Handler("add", restate.NewObjectHandler(add)).
	Handler("label", restate.NewObjectHandler(label)).
	Handler("reset", restate.NewObjectHandler(reset)).
	Handler("wipe", restate.NewObjectHandler(wipe)).
	Handler("get", restate.NewObjectSharedHandler(get)).
	Handler("keys", restate.NewObjectSharedHandler(keys))

func run(ctx restate.WorkflowContext, ms int) (string, error) {
	restate.Set(ctx, "phase", "asleep")
	if err := restate.Sleep(ctx, milliseconds(ms)); err != nil {
		return "", err
	}
	restate.Set(ctx, "phase", "waiting")
	by, err := restate.Promise[string](ctx, "approval").Result()
	if err != nil {
		return "", err
	}
	restate.Set(ctx, "phase", "done")
	return "approved by " + by, nil
}

func approve(ctx restate.WorkflowSharedContext, by string) (restate.Void, error) {
	return restate.Void{}, restate.Promise[string](ctx, "approval").Resolve(by)
}

func phaseOfSignup(ctx restate.WorkflowSharedContext, _ restate.Void) (string, error) {
	return restate.Get[string](ctx, "phase")
}

var signup = restate.NewWorkflow("Signup").
	Handler("run", restate.NewWorkflowHandler(run)).
	Handler("approve", restate.NewWorkflowSharedHandler(approve)).
	Handler("phase", restate.NewWorkflowSharedHandler(phaseOfSignup))

func haveGreeted(ctx restate.Context, name string) (string, error) {
	return restate.Service[string](ctx, "Greeter", "greet").Request(name)
}

type tallyRequest struct {
	Key     string `json:"key"`
	Numbers []int  `json:"numbers"`
}

func tally(ctx restate.Context, request tallyRequest) (int, error) {
	for _, n := range request.Numbers {
		restate.ObjectSend(ctx, "Counter", request.Key, "add").Send(n)
	}
	return restate.Object[int](ctx, "Counter", request.Key, "add").Request(0)
}

type laterRequest struct {
	Key     string `json:"key"`
	N       int    `json:"n"`
	DelayMs int    `json:"delayMs"`
}

func later(ctx restate.Context, request laterRequest) (string, error) {
	sent := restate.ObjectSend(ctx, "Counter", request.Key, "add").Send(request.N, restate.WithDelay(milliseconds(request.DelayMs)))
	return sent.GetInvocationId(), nil
}

type napRequest struct {
	Key string `json:"key"`
	Ms  int    `json:"ms"`
}

func haveANap(ctx restate.Context, request napRequest) (string, error) {
	return restate.Object[string](ctx, "Napper", request.Key, "nap").Request(request.Ms)
}

func cancel(ctx restate.Context, id string) (restate.Void, error) {
	restate.CancelInvocation(ctx, id)
	return restate.Void{}, nil
}

func join(ctx restate.Context, id string) (string, error) {
	return restate.AttachInvocation[string](ctx, id).Response()
}

var caller = restate.NewService("Caller").
	Handler("greet", restate.NewServiceHandler(haveGreeted)).
	Handler("tally", restate.NewServiceHandler(tally)).
	Handler("later", restate.NewServiceHandler(later)).
	Handler("nap", restate.NewServiceHandler(haveANap)).
	Handler("cancel", restate.NewServiceHandler(cancel)).
	Handler("join", restate.NewServiceHandler(join))

func receive(ctx restate.ObjectContext, ms int) (string, error) {
	letter := restate.Awakeable[string](ctx)
	restate.Set(ctx, "address", letter.Id())
	patience := restate.After(ctx, milliseconds(ms))
	first, err := restate.WaitFirst(ctx, letter, patience)
	if err != nil {
		return "", err
	}
	text := "no message"
	if first == letter {
		if text, err = letter.Result(); err != nil {
			return "", err
		}
	} else if err := patience.Done(); err != nil {
		return "", err
	}
	restate.Clear(ctx, "address")
	return text, nil
}

func address(ctx restate.ObjectSharedContext, _ restate.Void) (string, error) {
	return restate.Get[string](ctx, "address")
}

var mailbox = restate.NewObject("Mailbox").
	Handler("receive", restate.NewObjectHandler(receive)).
	Handler("address", restate.NewObjectSharedHandler(address))

func wait(ctx restate.Context, _ restate.Void) (string, error) {
	return restate.Signal[string](ctx, "flag").Result()
}

type raiseRequest struct {
	ID    string `json:"id"`
	Value string `json:"value"`
}

func raise(ctx restate.Context, request raiseRequest) (restate.Void, error) {
	restate.ResolveSignal(ctx, request.ID, "flag", request.Value)
	return restate.Void{}, nil
}

var flag = restate.NewService("Flag").
	Handler("wait", restate.NewServiceHandler(wait)).
	Handler("raise", restate.NewServiceHandler(raise))

type failureRequest struct {
	Code    uint16 `json:"code"`
	Message string `json:"message"`
}

func terminal(_ restate.Context, request failureRequest) (string, error) {
	return "", restate.ToTerminalError(fmt.Errorf("%s", request.Message), restate.WithErrorCode(restate.Code(request.Code)))
}

type flakyRequest struct {
	ID       string `json:"id"`
	Failures int    `json:"failures"`
}

func succeedAfter(request flakyRequest) (int, error) {
	attempt := ran(request.ID)
	if attempt <= request.Failures {
		return 0, errors.New("the attempt fails on purpose")
	}
	return attempt, nil
}

func flaky(_ restate.Context, request flakyRequest) (int, error) {
	return succeedAfter(request)
}

func flakyStep(ctx restate.Context, request flakyRequest) (int, error) {
	return restate.Run(ctx, func(restate.RunContext) (int, error) { return succeedAfter(request) },
		restate.WithName("flaky"), restate.WithInitialRetryInterval(milliseconds(10)))
}

// The step gives up after two attempts; what comes of it is caught here.
func givesUp(ctx restate.Context, id string) (string, error) {
	attempt, err := restate.Run(ctx, func(restate.RunContext) (int, error) { return succeedAfter(flakyRequest{id, 1000}) },
		restate.WithName("hopeless"), restate.WithInitialRetryInterval(milliseconds(10)), restate.WithMaxRetryAttempts(2))
	if err != nil {
		return "gave up", nil
	}
	return fmt.Sprintf("succeeded at attempt %d", attempt), nil
}

var failing = restate.NewService("Failing").
	Handler("terminal", restate.NewServiceHandler(terminal)).
	Handler("flaky", restate.NewServiceHandler(flaky)).
	Handler("flakyStep", restate.NewServiceHandler(flakyStep)).
	Handler("givesUp", restate.NewServiceHandler(givesUp))

func nap(ctx restate.ObjectContext, ms int) (string, error) {
	restate.Set(ctx, "phase", "napping")
	if woken := restate.Sleep(ctx, milliseconds(ms)); woken != nil {
		restate.Set(ctx, "phase", fmt.Sprintf("woken with %d", woken.Code()))
		return "", woken
	}
	restate.Set(ctx, "phase", "rested")
	return "rested", nil
}

func phaseOfNapper(ctx restate.ObjectSharedContext, _ restate.Void) (string, error) {
	return restate.Get[string](ctx, "phase")
}

var napper = restate.NewObject("Napper").
	Handler("nap", restate.NewObjectHandler(nap)).
	Handler("phase", restate.NewObjectSharedHandler(phaseOfNapper))

func main() {
	endpoint := server.NewRestate().Bidirectional(os.Getenv("MODE") == "bidi")
	for _, definition := range []restate.ServiceDefinition{greeter, steps, counter, signup, caller, mailbox, flag, failing, napper, planted, shelves} {
		endpoint = endpoint.Bind(definition)
	}
	if key, isSet := os.LookupEnv("IDENTITY_KEY"); isSet {
		endpoint = endpoint.WithIdentityV1(key)
	}
	if err := endpoint.Start(context.Background(), "127.0.0.1:"+os.Getenv("PORT")); err != nil {
		log.Fatal(err)
	}
}
