package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"github.com/coreos/go-oidc"
)

func base64URL(text string) ([]byte, error) { return base64.RawURLEncoding.DecodeString(text) }

func try(path string) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var values struct {
		Issuer, IDP, Audience string
		IDToken               string  `json:"id_token"`
		Logins                []login `json:"logins"`
	}
	if err := json.Unmarshal(file, &values); err != nil {
		return err
	}
	ctx := context.Background()
	provider, err := oidc.NewProvider(ctx, values.Issuer)
	if err != nil {
		return err
	}
	tokenURL := provider.Endpoint().TokenURL
	verifier := provider.Verifier(&oidc.Config{ClientID: values.Audience, SupportedSigningAlgs: []string{oidc.ES256}})

	first, err := exchange(
		ctx, tokenURL, "app-two", values.IDP, values.Logins[0], "urn:x-oath:params:oauth:token-type:device-id")
	if err != nil {
		return err
	}
	second, err := refresh(ctx, tokenURL, "app-two", first.RefreshToken)
	if err != nil {
		return err
	}
	for _, token := range []string{first.AccessToken, second.AccessToken} {
		claims, err := verify(ctx, verifier, token)
		if err != nil {
			return err
		}
		if claims.Subject == "" {
			return fmt.Errorf("no subject")
		}
	}
	if first.AccessToken == second.AccessToken || second.RefreshToken == first.RefreshToken {
		return fmt.Errorf("the refresh gave nothing new")
	}
	// Another signature, another service, and an id_token.
	if _, err := verify(ctx, verifier, first.AccessToken[:len(first.AccessToken)-8]+"AAAAAAAA"); err == nil {
		return fmt.Errorf("a changed signature was taken")
	}
	other := provider.Verifier(&oidc.Config{ClientID: "https://other.example", SupportedSigningAlgs: []string{oidc.ES256}})
	if _, err := verify(ctx, other, first.AccessToken); err == nil {
		return fmt.Errorf("another service took the token")
	}
	if _, err := verify(ctx, verifier, values.IDToken); err == nil {
		return fmt.Errorf("an id_token was taken")
	}
	_, err = refresh(ctx, tokenURL, "app-two", "nsr1.unknown")
	if refusal(err) != "invalid_grant" {
		return fmt.Errorf("an unknown refresh token: %v", err)
	}
	return nil
}
