// Serves five of the patterns with the Go SDK, on 127.0.0.1:9080 or PORT.
package main

import (
	"context"
	"log"
	"os"

	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/server"
)

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "9080"
	}
	endpoint := server.NewRestate()
	for _, definition := range []restate.ServiceDefinition{tripBooking, expenseApproval, bookCounter, pageCounter, orderEvents, agent} {
		endpoint = endpoint.Bind(definition)
	}
	if err := endpoint.Start(context.Background(), "127.0.0.1:"+port); err != nil {
		log.Fatal(err)
	}
}
