package main

import (
	"context"
	"encoding/base64"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const (
	annotation = group + "/inject-ca-from"
	pause      = time.Second
)

// injector fills in the CA in objects of one kind.
type injector struct {
	client.Client
	kind schema.GroupVersionKind
	fill func(obj map[string]any, ca string)
}

func addInjectors(manager ctrl.Manager) error {
	const registration = "admissionregistration.k8s.io"
	for name, one := range map[string]*injector{
		"definitions": {
			kind: schema.GroupVersionKind{
				Group:   "apiextensions.k8s.io",
				Version: "v1",
				Kind:    "CustomResourceDefinition",
			},
			fill: fillConversion,
		},
		"mutating": {
			kind: schema.GroupVersionKind{
				Group:   registration,
				Version: "v1",
				Kind:    "MutatingWebhookConfiguration",
			},
			fill: fillWebhooks,
		},
		"validating": {
			kind: schema.GroupVersionKind{
				Group:   registration,
				Version: "v1",
				Kind:    "ValidatingWebhookConfiguration",
			},
			fill: fillWebhooks,
		},
	} {
		one.Client = manager.GetClient()
		watched := &metav1.PartialObjectMetadata{}
		watched.SetGroupVersionKind(one.kind)
		asks := predicate.NewPredicateFuncs(func(obj client.Object) bool {
			return obj.GetAnnotations()[annotation] != ""
		})
		err := ctrl.NewControllerManagedBy(manager).
			Named(name).
			For(watched, builder.WithPredicates(asks)).
			Complete(one)
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *injector) Reconcile(
	ctx context.Context, request ctrl.Request,
) (ctrl.Result, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(r.kind)
	if err := r.Get(ctx, request.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	namespace, name, _ := strings.Cut(obj.GetAnnotations()[annotation], "/")
	ca, err := r.ca(ctx, types.NamespacedName{
		Namespace: namespace, Name: name,
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if ca == "" {
		// The Certificate may come later, and so may its Secret.
		return ctrl.Result{RequeueAfter: pause}, nil
	}
	before := obj.DeepCopy()
	r.fill(obj.Object, ca)
	if reflect.DeepEqual(before.Object, obj.Object) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(r.Patch(ctx, obj,
		client.MergeFromWithOptions(
			before, client.MergeFromWithOptimisticLock{})))
}

// ca is that of a Certificate, as it stands in manifests; empty if not yet.
func (r *injector) ca(
	ctx context.Context, where types.NamespacedName,
) (string, error) {
	certificate := newCertificate()
	if err := r.Get(ctx, where, certificate); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	secret := &corev1.Secret{}
	_, where.Name = wanted(certificate)
	if err := r.Get(ctx, where, secret); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return base64.StdEncoding.EncodeToString(secret.Data[caKey]), nil
}

func fillWebhooks(obj map[string]any, ca string) {
	hooks, _, _ := unstructured.NestedFieldNoCopy(obj, "webhooks")
	listed, _ := hooks.([]any)
	for _, hook := range listed {
		if called, ok := hook.(map[string]any); ok {
			fillClient(called, ca, "clientConfig")
		}
	}
}

func fillConversion(obj map[string]any, ca string) {
	fillClient(obj, ca, "spec", "conversion", "webhook", "clientConfig")
}

func fillClient(obj map[string]any, ca string, path ...string) {
	found, _, _ := unstructured.NestedFieldNoCopy(obj, path...)
	if config, ok := found.(map[string]any); ok {
		config["caBundle"] = ca
	}
}
