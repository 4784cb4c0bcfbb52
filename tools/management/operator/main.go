// Command certs makes what the package's webhooks need to be trusted.
//
// A Certificate of certs.example.org names a Secret and the DNS names of a
// Service; the Secret is made, with a certificate that signs itself. The
// annotation certs.example.org/inject-ca-from on a webhook configuration or
// on a CustomResourceDefinition names a Certificate, whose CA is filled in
// wherever a webhook of theirs is called.
package main

import (
	"context"
	"flag"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	health := flag.String("health", ":8081", "where probes are answered")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), *health); err != nil {
		klog.ErrorS(err, "ended")
		os.Exit(1)
	}
}

func run(ctx context.Context, health string) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		HealthProbeBindAddress: health,
		Metrics:                server.Options{BindAddress: "0"},
		Client: client.Options{Cache: &client.CacheOptions{
			// Else every Secret of the cluster would be kept in memory.
			DisableFor: []client.Object{&corev1.Secret{}},
		}},
	})
	if err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := addIssuer(manager); err != nil {
		return err
	}
	if err := addInjectors(manager); err != nil {
		return err
	}
	return manager.Start(ctx)
}
