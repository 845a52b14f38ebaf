package main

import (
	"fmt"
	"os"
)

// effect stands for the outside world: each effect is a line in a file, so that you can count how often it happened.
func effect(line string) error {
	name := os.Getenv("EFFECTS_FILE")
	if name == "" {
		name = "effects.log"
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, line)
	return err
}
