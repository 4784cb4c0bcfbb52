// Command client does with client-go what the bench measures, as fast as
// client-go can: it is the limit, not a tool.
//
//	client apply --namespace=NAME --workers=N FILE    objects of a YAML file
//	client delete --namespace=NAME --workers=N        those that it applied
//	client watch --namespace=NAME --resource=R.V.G    say when each is ready
//
// The cluster is the one that KUBECONFIG names. apply and delete end with a
// line of JSON; watch writes a line for each object until it is ended.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	manager  = "bench-client"
	selector = "bench=client"
)

var configMaps = schema.GroupVersionResource{
	Version: "v1", Resource: "configmaps",
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("one of apply, delete, watch is needed")
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	namespace := flags.String("namespace", "default", "of the objects")
	workers := flags.Int("workers", 1, "requests at the same time")
	resource := flags.String("resource", "", "plural.version.group")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	config, err := connection()
	if err != nil {
		return err
	}
	ctx := context.Background()
	switch args[0] {
	case "apply":
		return apply(ctx, config, flags.Arg(0), *namespace, *workers)
	case "delete":
		return remove(ctx, config, *namespace, *workers)
	case "watch":
		return watch(ctx, config, *resource, *namespace)
	}
	return fmt.Errorf("%s: not known", args[0])
}

// connection is that of KUBECONFIG, with no limit of the client's own.
func connection() (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(),
		&clientcmd.ConfigOverrides{},
	).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// each calls a function with every number below count, on so many workers.
// The first error keeps the rest from starting.
func each(count, workers int, do func(int) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	errs := make([]error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for !failed.Load() {
				number := int(next.Add(1)) - 1
				if number >= count {
					return
				}
				if err := do(number); err != nil {
					errs[worker] = err
					failed.Store(true)
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func report(objects int, seconds float64) error {
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"objects": objects, "seconds": seconds,
	})
}
