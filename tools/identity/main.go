// An OpenID provider with one user and one client, for tests: the server of
// the published module dex, without its database drivers.
//
// It reads its configuration as JSON from standard input, and writes one line
// to standard output for each request of a token: the grant type and the
// status that it answered.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/dexidp/dex/web"
	"golang.org/x/crypto/bcrypt"
)

type config struct {
	Address      string
	Issuer       string
	Certificate  string
	Key          string
	User         string
	Password     string
	Client       string
	ClientSecret string
	Lifetime     string
}

type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func noted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			next.ServeHTTP(w, r)
			return
		}
		// What the server sees is a copy of the request, with this form.
		_ = r.ParseForm()
		seen := &answer{w, http.StatusOK}
		next.ServeHTTP(seen, r)
		fmt.Println(r.PostForm.Get("grant_type"), seen.status)
	})
}

func run() error {
	var c config
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		return err
	}
	lifetime, err := time.ParseDuration(c.Lifetime)
	if err != nil {
		return err
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(c.Password), 10)
	if err != nil {
		return err
	}
	quiet := &slog.HandlerOptions{Level: slog.LevelError}
	logger := slog.New(slog.NewTextHandler(os.Stderr, quiet))
	store := storage.WithStaticClients(memory.New(logger), []storage.Client{
		{ID: c.Client, Secret: c.ClientSecret, Name: c.Client},
	})
	store = storage.WithStaticPasswords(store, []storage.Password{
		{Email: c.User, Hash: hash, Username: c.User, UserID: c.User},
	}, logger)
	store = storage.WithStaticConnectors(store, []storage.Connector{
		{ID: server.LocalConnector, Type: server.LocalConnector, Name: "local"},
	})
	refresh, err := server.NewRefreshTokenPolicy(logger, true, "", "", "")
	if err != nil {
		return err
	}
	provider, err := server.NewServer(context.Background(), server.Config{
		Issuer:             c.Issuer,
		Storage:            store,
		AllowedGrantTypes:  []string{"password", "refresh_token"},
		PasswordConnector:  server.LocalConnector,
		IDTokensValidFor:   lifetime,
		RefreshTokenPolicy: refresh,
		Web:                server.WebConfig{WebFS: web.FS()},
		Logger:             logger,
	})
	if err != nil {
		return err
	}
	return http.ListenAndServeTLS(
		c.Address, c.Certificate, c.Key, noted(provider))
}

func main() {
	fmt.Fprintln(os.Stderr, run())
	os.Exit(1)
}
