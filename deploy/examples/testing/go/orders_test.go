package orders

import (
	"fmt"
	"net/http"
	"testing"
)

func TestRemindsAfterThreeDays(t *testing.T) {
	perdure := startPerdure(t)
	perdure.crashAt(t, "reserve", "before-ack")
	submitted := perdure.request(t, http.MethodPost, perdure.Ingress+"/Orders/o-1/run/send", 3)
	order := fmt.Sprint(submitted["invocationId"])

	perdure.advance(t, 71)
	if steps := perdure.steps(t, order); steps != "reserve, sleep 3d" {
		t.Fatal(steps)
	}
	perdure.advance(t, 2) // The step that was lost was executed again half a second later.
	if steps := perdure.steps(t, order); steps != "reserve, sleep 3d, remind" {
		t.Fatal(steps)
	}
}
