// Package egress is outgoing HTTP on one allowlist: for scripts, through
// [Client.Fetch], and for Go code, through [Client.HTTPClient].
//
// A [Client] is made once and shared:
//
//	rule, err := egress.ParseRule(`GET,POST api.example.com:443/v1 header="Authorization: Bearer {{secret:API}}"`)
//	client, err := egress.New(egress.Options{
//		Rules:   []egress.Rule{rule},
//		Secrets: egress.SecretMap(map[string]string{"API": token}),
//	})
//	res, err := client.Fetch(ctx, &egress.Request{URL: "https://api.example.com/v1/orders"})
//	// res.Body is untrusted; res.Origin is its label, "fetch:api.example.com"
//
// # Rules
//
// A request must be covered by a rule: its host, scheme (https unless the rule
// says http), port, method and path. The first rule that covers it decides. There
// are no rules that refuse; what no rule covers is refused. [Rule] says what each
// field covers, [ParseRule] how rules are written.
//
// # Security
//
// The one who chooses the request, and the servers that answer it, are taken for
// hostile. What holds against them, in the order in which it is done:
//
//   - A URL is read strictly, once, and sent in the form that was checked. Text
//     that two readers could understand differently is refused: user names,
//     backslashes, control characters, encoded hosts, odd forms of addresses,
//     characters that only stand for ASCII ones.
//   - A name is resolved once for each request. Every address of the answer must
//     pass two lists, of this package and of code.dny.dev/ssrf, or none is used.
//     The connection is to an address that was checked, and is checked once more
//     when the system is about to make it. The name stays the URL's for TLS and
//     for the Host header.
//   - Addresses are public, unless a rule says DangerouslyAllowPrivateAddresses.
//     Metadata services, link-local and multicast addresses, and IPv6 addresses
//     with an IPv4 address in them, are never dialled.
//   - Each redirect is a new request under the same rules, with a connection of its
//     own. None leads from https to http. Credentials are not carried to another
//     origin, nor is a URL with a secret in it.
//   - Headers that say where a message ends, who it is for, or which method or path
//     is really meant cannot be set; nor can those of the rule.
//   - Secrets are put in last, for the one request. What comes back is searched for
//     all secrets of all rules: as they are and in the escapes of URLs, JSON and
//     HTML, in hexadecimal and base64, in any case of letters. Body, headers, status
//     text and URL show [secret] in place of them.
//   - A connection is for one request: none is kept, so that none can be used that
//     was checked for another rule or address. HTTP/2 is not spoken, no proxy is
//     taken from the environment, no cookie is kept.
//
// What does not hold:
//
//   - A listed host gets what it is sent, in URLs, headers and bodies: a script that
//     may write to a host can tell it all that it knows.
//   - The mask is for servers that echo. One that means to give a secret away can
//     write it in a way that nobody looks for, or a part of it at a time. A host that
//     gets a secret is trusted with it.
//   - A public address of the machine itself, or of a network that trusts it, is
//     public here. So are addresses behind a NAT64 prefix of the operator's own.
//   - How long a request takes, and which of several refusals comes back, tells a
//     script something about names and addresses.
//   - In networks without IPv4 that reach it by the well-known NAT64 prefix, hosts
//     that have only IPv4 cannot be reached.
//
// "go test ./egress -run Attacks -v" lists attacks with what becomes of them.
//
// # Concurrency
//
// All methods may be called concurrently. A client keeps no state between calls.
//
// # Errors
//
// Requests end in a [*Response], or in one of two errors: [*DeniedError] for what
// is refused before a connection is made for it, and [*FailedError] for what was
// allowed and went wrong. Their texts are one line that a script may see. They
// name the host that was asked for and no address that it led to; the cause of a
// failure is for operators, as is what [Options.Observe] is told. The errors of
// [New] and [ParseRule] are [*OptionError].
//
// # Limits
//
//	time in all                30 s    [Options.Timeout]               redirects and body included
//	connecting                 10 s    [Options.ConnectTimeout]        name, connection and TLS, of each request
//	waiting for headers        20 s    [Options.HeaderTimeout]         of each request
//	redirects                  5       [Options.MaxRedirects]
//	URL                        8 KiB   [MaxURLBytes]
//	request headers            32 KiB  [MaxRequestHeaderBytes]         and 100 in number
//	request body               1 MiB   [Options.RequestBytes]
//	response headers           64 KiB  [Options.ResponseHeaderBytes]
//	response body, received    4 MiB   [Options.ResponseBytes]
//	response body, decoded     4 MiB   [Options.DecodedBytes]          gzip and deflate; nothing else is decoded
//	addresses of a name        256     of which 4 are tried
//	secret                     8 bytes to 4 KiB of ASCII
//
// What is over a limit fails; nothing is cut off. A body is held in memory as a
// whole, several times over while secrets are looked for.
package egress
