package main

import (
	"fmt"

	restate "github.com/restatedev/sdk-go"
)

// AI agent with tools and memory. See ../src/agent/services.ts for the explanation.

const (
	roundsMax         = 8
	memoryMessagesMax = 100
)

type message struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

// completion is a text for the user (kind "text"), or a tool to call (kind "tool").
type completion struct {
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Tool  string `json:"tool"`
	Input string `json:"input"`
}

type toolResult struct {
	Result string `json:"result"`
}

// tools by name: the system outside that performs each, and the name of its input.
var tools = map[string]struct{ action, input string }{
	"weather":    {"weather/now", "city"},
	"book_table": {"tables/book", "restaurant"},
}

// chat answers a message of the user who is the key of the object.
func chat(ctx restate.ObjectContext, text string) (string, error) {
	messages, err := restate.Get[[]message](ctx, "messages")
	if err != nil {
		return "", err
	}
	messages = append(messages, message{"user", text})
	for round := 1; round <= roundsMax; round++ {
		key := restate.UUID(ctx).String()
		answer, err := callOutside[completion](ctx, fmt.Sprintf("model %d", round), "model/complete", key, map[string]any{"messages": messages})
		if err != nil {
			return "", err
		}
		if answer.Kind == "text" {
			messages = append(messages, message{"assistant", answer.Text})
			restate.Set(ctx, "messages", messages[max(0, len(messages)-memoryMessagesMax):])
			return answer.Text, nil
		}
		result, err := useTool(ctx, key, answer)
		if err != nil {
			return "", err
		}
		messages = append(messages, message{"tool", answer.Tool + ": " + result})
	}
	return "I could not finish this. Please try a smaller request.", nil
}

func useTool(ctx restate.ObjectContext, key string, call completion) (string, error) {
	tool, isKnown := tools[call.Tool]
	if !isKnown {
		return "there is no tool called " + call.Tool, nil
	}
	result, err := callOutside[toolResult](ctx, "tool "+call.Tool, tool.action, key, map[string]string{tool.input: call.Input})
	return result.Result, err
}

// clearConversation deletes the conversation.
func clearConversation(ctx restate.ObjectContext, _ restate.Void) (restate.Void, error) {
	restate.Clear(ctx, "messages")
	return restate.Void{}, nil
}

var agent = restate.NewObject("Agent").
	Handler("chat", restate.NewObjectHandler(chat)).
	Handler("clear", restate.NewObjectHandler(clearConversation))
