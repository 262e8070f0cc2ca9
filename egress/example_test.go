package egress_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/loom-sandbox/sandboxd/egress"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s with %s", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	defer server.Close()

	// The server of this example is on loopback, which a rule must allow.
	rule, err := egress.ParseRule("GET " + server.URL + `/v1 dangerously-allow-private-addresses header="Authorization: Bearer {{secret:API}}"`)
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := egress.New(egress.Options{
		Rules:   []egress.Rule{rule},
		Secrets: egress.SecretMap(map[string]string{"API": "kept-from-scripts"}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	res, err := client.Fetch(context.Background(), &egress.Request{URL: server.URL + "/v1/orders?open"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Status, string(res.Body), "from", res.Origin)

	for _, request := range []*egress.Request{
		{URL: "https://evil.test/"},
		{URL: server.URL + "/v1/%2e%2e/admin", Method: "GET"},
		{URL: "https://127.1/"},
	} {
		_, err = client.Fetch(context.Background(), request)
		var denied *egress.DeniedError
		fmt.Println(errors.As(err, &denied), denied.Kind)
	}
	// Output:
	// 200 GET /v1/orders?open with Bearer [secret] from fetch:127.0.0.1
	// true host
	// true path
	// true url
}

func ExampleParseRule() {
	rule, err := egress.ParseRule("GET,HEAD *.Example.com/public/")
	fmt.Println(rule, err)
	_, err = egress.ParseRule("*.com")
	fmt.Println(err)
	// Output:
	// GET,HEAD https://*.example.com:443/public <nil>
	// egress: Host must not have a wildcard directly below a name under which strangers get names of their own
}
