// Image-tools reads what an image builder and a composer read, by their own parsers, and prints it as JSON: nothing is built or pulled.
//
//	image-tools dockerfile FILE NAME=VALUE…   warnings of BuildKit's checks, stages with their instructions, the configuration of each image
//	image-tools context DIRECTORY             the files that a builder is given of it, after its .dockerignore
//	image-tools compose FILE PROFILE…         the project as Compose understands it, every profile named
//	image-tools kind FILE                     nothing, or what is wrong with the cluster's configuration
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: image-tools dockerfile|context|compose|kind FILE …")
	}
	switch args[0] {
	case "dockerfile":
		return dockerfile(ctx, args[1], variables(args[2:]))
	case "context":
		return buildContext(args[1])
	case "compose":
		return compose(ctx, args[1], args[2:])
	case "kind":
		return kind(args[1])
	default:
		return fmt.Errorf("there is no command %q", args[0])
	}
}

func variables(pairs []string) map[string]string {
	all := map[string]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return all
}

// ── Dockerfiles ─────────────────────────────────────────────────────────────────────────────────

type checked struct {
	Warnings []warning                       `json:"warnings"`
	Stages   []stage                         `json:"stages"`
	Images   map[string]ocispecs.ImageConfig `json:"images"`
}

type warning struct {
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
	Line   int32  `json:"line"`
}

type stage struct {
	Name     string        `json:"name"`
	Base     string        `json:"base"`
	Platform string        `json:"platform"`
	Steps    []interface{} `json:"steps"`
}

type copyStep struct {
	Kind    string   `json:"kind"`
	From    string   `json:"from"`
	Sources []string `json:"sources"`
	Target  string   `json:"target"`
	Owner   string   `json:"owner"`
}

type runStep struct {
	Kind    string   `json:"kind"`
	Command []string `json:"command"`
	Shell   bool     `json:"shell"`
	Caches  []string `json:"caches"`
	Mounts  int      `json:"mounts"`
}

type workStep struct {
	Kind string `json:"kind"`
	Path string `json:"path"`
}

type otherStep struct {
	Kind string `json:"kind"`
}

func dockerfile(ctx context.Context, file string, given map[string]string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	platform := ocispecs.Platform{OS: "linux", Architecture: given["TARGETARCH"]}
	options := dockerfile2llb.ConvertOpt{
		Config:         dockerui.Config{BuildArgs: given, BuildPlatforms: []ocispecs.Platform{{OS: "linux", Architecture: given["BUILDARCH"]}}},
		SourceMap:      &llb.SourceMap{Definition: &llb.Definition{}, Filename: file, Language: "Dockerfile", Data: text},
		TargetPlatform: &platform,
		MetaResolver:   nobodysImages{},
	}
	results, err := dockerfile2llb.DockerfileLint(ctx, text, options)
	if err != nil {
		return err
	}
	if results.Error != nil {
		return errors.New(results.Error.Message)
	}
	all := checked{Warnings: []warning{}, Images: map[string]ocispecs.ImageConfig{}}
	for _, one := range results.Warnings {
		line := int32(0)
		if ranges := one.Location.GetRanges(); len(ranges) > 0 {
			line = ranges[0].Start.Line
		}
		all.Warnings = append(all.Warnings, warning{Rule: one.RuleName, Detail: one.Detail, Line: line})
	}
	if all.Stages, err = stagesOf(text, given); err != nil {
		return err
	}
	for _, one := range all.Stages {
		options.Config.Target = one.Name
		built, err := dockerfile2llb.Dockerfile2LLB(ctx, text, options)
		if err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
		all.Images[one.Name] = built.Image.Config.ImageConfig
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

// Base images are not fetched; the configuration of all of them is minimal.
type nobodysImages struct{}

func (nobodysImages) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	return ref, "", []byte(`{"architecture":"amd64","os":"linux","config":{"Entrypoint":["docker-entrypoint.sh"],"Cmd":["node"]}}`), nil
}

func stagesOf(text []byte, given map[string]string) ([]stage, error) {
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	stages, arguments, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return nil, err
	}
	lex := shell.NewLex(parsed.EscapeToken)
	known := &scope{values: map[string]string{}}
	for name, value := range given {
		known.values[name] = value
	}
	expand := func(word string) (string, error) {
		expanded, _, err := lex.ProcessWord(word, known)
		return expanded, err
	}
	for _, one := range arguments {
		if err := define(known, one.Args, expand); err != nil {
			return nil, err
		}
	}
	described := []stage{}
	for _, one := range stages {
		base, err := expand(one.BaseName)
		if err != nil {
			return nil, err
		}
		next := stage{Name: one.Name, Base: base, Platform: one.Platform, Steps: []interface{}{}}
		for _, command := range one.Commands {
			step, err := stepOf(command, known, expand)
			if err != nil {
				return nil, err
			}
			next.Steps = append(next.Steps, step)
		}
		described = append(described, next)
	}
	return described, nil
}

type scope struct{ values map[string]string }

func (s *scope) Get(name string) (string, bool) { value, found := s.values[name]; return value, found }
func (s *scope) Keys() []string {
	keys := []string{}
	for key := range s.values {
		keys = append(keys, key)
	}
	return keys
}

func define(known *scope, arguments []instructions.KeyValuePairOptional, expand instructions.SingleWordExpander) error {
	for _, one := range arguments {
		if _, found := known.values[one.Key]; found || one.Value == nil {
			continue
		}
		value, err := expand(*one.Value)
		if err != nil {
			return err
		}
		known.values[one.Key] = value
	}
	return nil
}

func stepOf(command instructions.Command, known *scope, expand instructions.SingleWordExpander) (interface{}, error) {
	if expanding, ok := command.(instructions.SupportsSingleWordExpansion); ok {
		if err := expanding.Expand(expand); err != nil {
			return nil, err
		}
	}
	switch one := command.(type) {
	case *instructions.ArgCommand:
		return otherStep{Kind: "arg"}, define(known, one.Args, expand)
	case *instructions.EnvCommand:
		for _, pair := range one.Env {
			known.values[pair.Key] = pair.Value
		}
		return otherStep{Kind: "env"}, nil
	case *instructions.WorkdirCommand:
		return workStep{Kind: "workdir", Path: one.Path}, nil
	case *instructions.CopyCommand:
		return copyStep{Kind: "copy", From: one.From, Sources: one.SourcePaths, Target: one.DestPath, Owner: one.Chown}, nil
	case *instructions.RunCommand:
		step := runStep{Kind: "run", Command: one.CmdLine, Shell: one.PrependShell, Caches: []string{}}
		for _, mount := range instructions.GetMounts(one) {
			step.Mounts++
			if mount.Type == instructions.MountTypeCache {
				step.Caches = append(step.Caches, mount.Target)
			}
		}
		return step, nil
	default:
		return otherStep{Kind: command.Name()}, nil
	}
}

func buildContext(directory string) error {
	ignored, err := os.Open(filepath.Join(directory, ".dockerignore"))
	if err != nil {
		return err
	}
	defer ignored.Close()
	patterns, err := ignorefile.ReadAll(ignored)
	if err != nil {
		return err
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		return err
	}
	files := []string{}
	err = filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == directory {
			return err
		}
		name, err := filepath.Rel(directory, path)
		if err != nil {
			return err
		}
		isIgnored, err := matcher.MatchesOrParentMatches(name)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if isIgnored && !holdsException(name, patterns) {
				return filepath.SkipDir
			}
			return nil
		}
		if !isIgnored {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(files)
}

// Whether a file below an ignored directory is included after all.
func holdsException(directory string, patterns []string) bool {
	for _, pattern := range patterns {
		if strings.HasPrefix(pattern, "!") && strings.HasPrefix(pattern[1:]+"/", directory+"/") {
			return true
		}
	}
	return false
}

// ── Compose and kind ────────────────────────────────────────────────────────────────────────────

func compose(ctx context.Context, file string, profiles []string) error {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithName("perdure"), cli.WithProfiles(profiles), cli.WithInterpolation(true))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(ctx)
	if err != nil {
		return err
	}
	text, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

func kind(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var cluster v1alpha4.Cluster
	if err := decoder.Decode(&cluster); err != nil {
		return err
	}
	if cluster.Kind != "Cluster" || cluster.APIVersion != "kind.x-k8s.io/v1alpha4" {
		return fmt.Errorf("%s %s is no configuration of kind", cluster.APIVersion, cluster.Kind)
	}
	return nil
}
