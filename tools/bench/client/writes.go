package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// apply applies the ConfigMaps of a file. Reading it is not measured.
func apply(
	ctx context.Context, config *rest.Config, path, namespace string,
	workers int,
) error {
	objects, err := read(path)
	if err != nil {
		return err
	}
	begin := time.Now()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	configMaps := client.Resource(configMaps).Namespace(namespace)
	options := metav1.ApplyOptions{FieldManager: manager}
	err = each(len(objects), workers, func(number int) error {
		object := objects[number]
		_, err := configMaps.Apply(ctx, object.GetName(), object, options)
		return err
	})
	if err != nil {
		return err
	}
	return report(len(objects), time.Since(begin).Seconds())
}

func read(path string) ([]*unstructured.Unstructured, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(bufio.NewReader(file), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		objects = append(objects, object)
	}
}

// remove deletes, by name and UID, the ConfigMaps that bear the bench's
// label. Finding out their UIDs, with one request, is measured too.
func remove(
	ctx context.Context, config *rest.Config, namespace string, workers int,
) error {
	begin := time.Now()
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	configMaps := client.Resource(configMaps).Namespace(namespace)
	found, err := configMaps.List(
		ctx, metav1.ListOptions{LabelSelector: selector},
	)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	err = each(len(found.Items), workers, func(number int) error {
		object := &found.Items[number]
		return configMaps.Delete(ctx, object.Name, metav1.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: &object.UID},
			PropagationPolicy: &background,
		})
	})
	if err != nil {
		return err
	}
	return report(len(found.Items), time.Since(begin).Seconds())
}
