package main

import (
	"context"
	"log"
	"os"

	"github.com/restatedev/sdk-go/server"
)

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "9080"
	}
	endpoint := server.NewRestate().Bind(greeter).Bind(order)
	if err := endpoint.Start(context.Background(), "127.0.0.1:"+port); err != nil {
		log.Fatal(err)
	}
}
