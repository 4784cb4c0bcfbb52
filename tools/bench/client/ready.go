package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// watch writes a line for each object when an event first shows it ready:
// its name and the moment, in nanoseconds since 1970. The line "watching"
// says that from now on nothing is missed.
func watch(
	ctx context.Context, config *rest.Config, resource, namespace string,
) error {
	parts := strings.SplitN(resource, ".", 3)
	if len(parts) != 3 {
		return fmt.Errorf("%s: not plural.version.group", resource)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	stream, err := client.Resource(schema.GroupVersionResource{
		Resource: parts[0], Version: parts[1], Group: parts[2],
	}).Namespace(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer stream.Stop()
	fmt.Println("watching")
	said := map[string]bool{}
	for event := range stream.ResultChan() {
		now := time.Now()
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("watch: %v", event.Object)
		}
		uid := string(object.GetUID())
		if ready(object) && !said[uid] {
			said[uid] = true
			fmt.Println(object.GetName(), now.UnixNano())
		}
	}
	return errors.New("watch: the server ended it")
}

// ready is whether the status says so for the object as it is now.
func ready(object *unstructured.Unstructured) bool {
	seen, _, _ := unstructured.NestedInt64(
		object.Object, "status", "observedGeneration",
	)
	if seen < object.GetGeneration() {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(
		object.Object, "status", "conditions",
	)
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if condition["type"] == "Ready" && condition["status"] == "True" {
			return true
		}
	}
	return false
}
