package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	group    = "certs.example.org"
	lifetime = 365 * 24 * time.Hour
	caKey    = "ca.crt"
)

var certificateKind = schema.GroupVersionKind{
	Group: group, Version: "v1", Kind: "Certificate",
}

// issuer makes the Secret of each Certificate.
type issuer struct{ client.Client }

func addIssuer(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		Named("issuer").
		For(newCertificate()).
		Complete(&issuer{manager.GetClient()})
}

func newCertificate() *unstructured.Unstructured {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(certificateKind)
	return found
}

func (r *issuer) Reconcile(
	ctx context.Context, request ctrl.Request,
) (ctrl.Result, error) {
	certificate := newCertificate()
	err := r.Get(ctx, request.NamespacedName, certificate)
	if err != nil || certificate.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	names, name := wanted(certificate)
	if err := r.ensure(ctx, certificate, name, names); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.tell(ctx, certificate)
}

// wanted is what a Certificate asks for: DNS names, and where to put them.
func wanted(certificate *unstructured.Unstructured) ([]string, string) {
	spec := certificate.Object
	names, _, _ := unstructured.NestedStringSlice(spec, "spec", "dnsNames")
	secret, _, _ := unstructured.NestedString(spec, "spec", "secretName")
	return names, secret
}

func (r *issuer) ensure(
	ctx context.Context,
	certificate *unstructured.Unstructured,
	name string,
	names []string,
) error {
	secret := &corev1.Secret{}
	secret.Name, secret.Namespace = name, certificate.GetNamespace()
	err := r.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err == nil && serves(secret.Data[corev1.TLSCertKey], names) {
		return nil
	}
	absent := apierrors.IsNotFound(err)
	if secret.Data, err = newPair(names); err != nil {
		return err
	}
	secret.Type = corev1.SecretTypeTLS
	// It goes with its Certificate.
	err = controllerutil.SetControllerReference(
		certificate, secret, r.Scheme())
	if err != nil {
		return err
	}
	if absent {
		return r.Create(ctx, secret)
	}
	return r.Update(ctx, secret)
}

// serves tells whether a certificate is for these names, and for long.
func serves(text []byte, names []string) bool {
	block, _ := pem.Decode(text)
	if block == nil {
		return false
	}
	found, err := x509.ParseCertificate(block.Bytes)
	return err == nil && slices.Equal(found.DNSNames, names) &&
		time.Until(found.NotAfter) > lifetime/3
}

// newPair is a key and a certificate that signs itself, as a TLS Secret.
func newPair(names []string) (map[string][]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: group},
		DNSNames:              names,
		NotBefore:             now.Add(-time.Minute),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	raw, err := x509.CreateCertificate(
		rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	public := pem.EncodeToMemory(
		&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	return map[string][]byte{
		caKey:             public,
		corev1.TLSCertKey: public,
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(
			&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}

// tell writes the status, which says for which generation it is.
func (r *issuer) tell(
	ctx context.Context, certificate *unstructured.Unstructured,
) error {
	generation := certificate.GetGeneration()
	told, _, _ := unstructured.NestedInt64(
		certificate.Object, "status", "observedGeneration")
	if told == generation {
		return nil
	}
	before := certificate.DeepCopy()
	certificate.Object["status"] = map[string]any{
		"observedGeneration": generation,
		"conditions": []any{map[string]any{
			"type":               "Ready",
			"status":             "True",
			"reason":             "Issued",
			"message":            "",
			"observedGeneration": generation,
			"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
		}},
	}
	return r.Status().Patch(ctx, certificate, client.MergeFrom(before))
}
