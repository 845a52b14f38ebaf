package main

import (
	"fmt"
	"time"

	restate "github.com/restatedev/sdk-go"
)

// Human approval with reminders. See ../src/approval/services.ts for the explanation.

const (
	decision     = "decision"
	remindersMax = 10
)

type expense struct {
	Employee      string `json:"employee"`
	Approver      string `json:"approver"`
	Cents         int    `json:"cents"`
	RemindAfterMs int    `json:"remindAfterMs"`
}

// approveExpense returns paid, rejected or expired. The key of the workflow is the number of the expense.
func approveExpense(ctx restate.WorkflowContext, request expense) (string, error) {
	if err := sendMail(ctx, "question", request.Approver, "please decide"); err != nil {
		return "", err
	}
	for reminder := 1; reminder <= remindersMax; reminder++ {
		decided := restate.Promise[bool](ctx, decision)
		pause := restate.After(ctx, time.Duration(request.RemindAfterMs)*time.Millisecond)
		first, err := restate.WaitFirst(ctx, decided, pause)
		if err != nil {
			return "", err
		}
		if first == decided {
			return settle(ctx, request, decided)
		}
		if err := pause.Done(); err != nil {
			return "", err
		}
		if err := sendMail(ctx, fmt.Sprintf("reminder-%d", reminder), request.Approver, "still waiting"); err != nil {
			return "", err
		}
	}
	return "expired", nil
}

func settle(ctx restate.WorkflowContext, request expense, decided restate.DurablePromise[bool]) (string, error) {
	isApproved, err := decided.Result()
	if err != nil {
		return "", err
	}
	if !isApproved {
		return "rejected", nil
	}
	if _, err := callOutside[done](ctx, "pay", "payroll/pay", restate.Key(ctx), request); err != nil {
		return "", err
	}
	return "paid", nil
}

// decide is called by the link in the mail. The first decision counts.
func decide(ctx restate.WorkflowSharedContext, isApproved bool) (restate.Void, error) {
	return restate.Void{}, restate.Promise[bool](ctx, decision).Resolve(isApproved)
}

func sendMail(ctx restate.WorkflowContext, name, to, text string) error {
	_, err := callOutside[done](ctx, name, "mail/send", restate.Key(ctx)+"/"+name, map[string]string{"to": to, "text": text})
	return err
}

var expenseApproval = restate.NewWorkflow("ExpenseApproval").
	Handler("run", restate.NewWorkflowHandler(approveExpense)).
	Handler("decide", restate.NewWorkflowSharedHandler(decide))
