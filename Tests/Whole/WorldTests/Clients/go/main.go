// A service that exchanges, refreshes and verifies with golang.org/x/oauth2 and go-oidc.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"

	"github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// A login from the shared keychain.
type login struct {
	IDToken string `json:"id_token"`
	Device  string `json:"device"`
}

// exchange gets tokens for clientID: RFC 8693, as a grant of its own.
func exchange(ctx context.Context, tokenURL, clientID, idp string, login login, deviceType string) (*oauth2.Token, error) {
	config := clientcredentials.Config{
		ClientID:  clientID,
		TokenURL:  tokenURL,
		AuthStyle: oauth2.AuthStyleInParams,
		Scopes:    []string{"openid", "profile"},
		EndpointParams: url.Values{
			"grant_type":         {"urn:ietf:params:oauth:grant-type:token-exchange"},
			"audience":           {idp},
			"subject_token":      {login.IDToken},
			"subject_token_type": {"urn:ietf:params:oauth:token-type:id_token"},
			"actor_token":        {login.Device},
			"actor_token_type":   {deviceType},
		},
	}
	return config.Token(ctx)
}

// refresh gets the next tokens. Store the new refresh token before you use the access token.
func refresh(ctx context.Context, tokenURL, clientID, refreshToken string) (*oauth2.Token, error) {
	config := oauth2.Config{
		ClientID: clientID,
		Endpoint: oauth2.Endpoint{TokenURL: tokenURL, AuthStyle: oauth2.AuthStyleInParams},
	}
	return config.TokenSource(ctx, &oauth2.Token{RefreshToken: refreshToken}).Token()
}

// refusal is the error code of the broker's answer, or "" if it did not say no: then keep everything, and try again.
func refusal(err error) string {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) || answer.Response.StatusCode >= 500 || answer.Response.StatusCode == 429 {
		return ""
	}
	var body struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(answer.Body, &body)
	return body.Error
}

// verify checks an access token in an API. go-oidc does not look at typ, which tells an access token from an id_token.
func verify(ctx context.Context, verifier *oidc.IDTokenVerifier, accessToken string) (*oidc.IDToken, error) {
	claims, err := verifier.Verify(ctx, accessToken)
	if err != nil {
		return nil, err
	}
	header, err := base64URL(strings.SplitN(accessToken, ".", 2)[0])
	if err != nil {
		return nil, err
	}
	var fields struct {
		Type string `json:"typ"`
	}
	if err := json.Unmarshal(header, &fields); err != nil {
		return nil, err
	}
	if !strings.EqualFold(strings.TrimPrefix(fields.Type, "application/"), "at+jwt") {
		return nil, fmt.Errorf("typ is %q", fields.Type)
	}
	return claims, nil
}

func main() {
	if err := try(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
