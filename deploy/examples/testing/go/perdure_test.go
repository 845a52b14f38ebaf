package orders

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/restatedev/sdk-go/server"
)

// perdure is a running test server, with the addresses that it printed.
type perdure struct {
	Ingress string `json:"ingress_url"`
	Admin   string `json:"admin_url"`
}

// startPerdure starts `perdure test-server`, which ends with the test, and registers the endpoint. PERDURE names the program.
func startPerdure(t *testing.T) perdure {
	t.Helper()
	program := os.Getenv("PERDURE")
	if program == "" {
		program = "perdure"
	}
	command := exec.Command(program, "test-server", "--skip-time", "manual")
	input, err := command.StdinPipe()
	check(t, err)
	output, err := command.StdoutPipe()
	check(t, err)
	check(t, command.Start())
	t.Cleanup(func() {
		_ = input.Close() // The server ends with its input.
		_ = command.Wait()
	})
	line, err := bufio.NewReader(output).ReadBytes('\n')
	check(t, err)
	var started perdure
	check(t, json.Unmarshal(line, &started))
	started.request(t, http.MethodPost, started.Admin+"/deployments", map[string]string{"uri": startEndpoint(t)})
	return started
}

func startEndpoint(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	address := listener.Addr().String()
	check(t, listener.Close())
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	go func() { _ = server.NewRestate().Bind(Orders).Start(ctx, address) }()
	for {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
			return "http://" + address
		}
	}
}

func (p perdure) request(t *testing.T, method, url string, body any) map[string]any {
	t.Helper()
	encoded, err := json.Marshal(body)
	check(t, err)
	request, err := http.NewRequest(method, url, bytes.NewReader(encoded))
	check(t, err)
	request.Header.Set("content-type", "application/json")
	response, err := http.DefaultClient.Do(request)
	check(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(t, err)
	if response.StatusCode >= 400 {
		t.Fatalf("%s %s: %d %s", method, url, response.StatusCode, text)
	}
	var answer map[string]any
	check(t, json.Unmarshal(text, &answer))
	return answer
}

// advance moves time, and returns when all that became due has run.
func (p perdure) advance(t *testing.T, hours int) {
	t.Helper()
	p.request(t, http.MethodPost, p.Admin+"/testing/clock", map[string]int{"hours": hours})
}

func (p perdure) crashAt(t *testing.T, step, when string) {
	t.Helper()
	p.request(t, http.MethodPost, p.Admin+"/testing/faults", map[string]string{"kind": "crash", "step": step, "when": when})
}

// steps returns the labels of the journal, separated by commas.
func (p perdure) steps(t *testing.T, id string) string {
	t.Helper()
	journal := p.request(t, http.MethodGet, p.Admin+"/testing/journals/"+id, nil)
	labels := ""
	for _, step := range journal["steps"].([]any) {
		if labels != "" {
			labels += ", "
		}
		labels += fmt.Sprint(step.(map[string]any)["label"])
	}
	return labels
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
