import Testing

@testable import native_sso

/// Each rule with a file that breaks it, the reported line and the message.
@Suite struct RefusalTests {
    struct Refusal: Sendable, CustomTestStringConvertible {
        let yaml: String
        let expected: String
        var testDescription: String { expected }

        init(_ yaml: String, _ expected: String) {
            self.yaml = yaml
            self.expected = expected
        }

        /// A provider as the minimal file has it, with one line more or another value.
        static func provider(_ old: String, _ new: String, _ expected: String) -> Refusal {
            Refusal(SampleFile.replacing(old, with: new), expected)
        }

        static func added(_ lines: String, _ expected: String) -> Refusal {
            Refusal(SampleFile.adding(lines), expected)
        }
    }

    static let accepted = "write one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519"
    static let alias = "anchors (&) and aliases (*) are not read; write the value out"
    static let duration = "write a whole number and a unit, such as 90d, 12h, 30m or 60s"
    static let socket =
        "write unix: and an absolute path of less than 104 octets, such as unix:/run/native-sso/public"
    static let address = "write a numeric address and a port, such as 127.0.0.1:8080 or [::1]:8080"

    @Test(arguments: form + issuers + algorithms + listeners + databases + durations + proofs + providers + others)
    func isRefused(_ refusal: Refusal) {
        #expect(SampleFile.problems(refusal.yaml) == ["test.yaml:" + refusal.expected])
    }

    static let form: [Refusal] = [
        .added(
            "tokens: { refesh_grace: 30s }",
            "10: tokens.refesh_grace: is not a key of the configuration; did you mean refresh_grace?"),
        .added(
            "colour: blue",
            "10: colour: is not a key of the configuration; known here: advertise_login, audience_aliases, backchannel, database, development, dpop, identity_providers, internal, issuer, keys, limits, log, metrics, public, sessions, tokens"
        ),
        .added("issuer: https://other.example.com", "1: issuer: given here and once more below; write each key once"),
        .added("tokens: 5m", "10: tokens: must be a section of keys and values"),
        .added("tokens: { access: [5m] }", "10: tokens.access: must be a single value"),
        .added("tokens:\n  access:", "11: tokens.access: has no value; write one, or remove it to have the default"),
        .added("log: { level: ~ }", "10: log.level: has no value; write one, or remove it to have the default"),
        .added("development: yes", "10: development: write true or false, without quotes"),
        .added("development: \"true\"", "10: development: write true or false, without quotes"),
        .added("log: &a { level: info }", "10: \(alias)"),
        .added(
            "a: &a [x, x]\nb: &b [*a, *a]\n" + (0..<60).map { "c\($0): &b [*b, *b]\n" }.joined(), "10: \(alias)"),
        .added("log: { &a level: info }", "10: \(alias)"),
        .added("log: { level: !!str info }", "10: tags (!) are not read; remove it"),
        .added("log: *a", "10: \(alias)"),
        .added("log: !!map { level: info }", "10: tags (!) are not read; remove it"),
        .added("log: { level: !secret info }", "10: tags (!) are not read; remove it"),
        .added("---\nissuer: x", "10: a second document begins here; write one only"),
        .added("log: { level: info", "11: is not YAML at column 1: did not find expected ',' or '}'"),
        .added("[a]: b", "10: a key must be a name"),
        Refusal("", " is empty"),
        Refusal("# nothing\n", " is empty"),
        Refusal("a\u{0}b", " is not YAML: control characters are not allowed"),
        Refusal(
            SampleFile.replacing("issuer: https://sso.example.com\n", with: ""),
            " issuer: is missing; write it, such as https://sso.example.com"),
    ]

    static let issuers: [Refusal] = [
        issuer(
            "http://sso.example.com", "must begin with https:// (http only for a loopback host, with development: true)"
        ),
        issuer(
            "http://localhost:8080", "must begin with https:// (http only for a loopback host, with development: true)"),
        issuer("https://sso.example.com/", "must not end with a slash: issuers are compared octet by octet"),
        issuer("HTTPS://sso.example.com", "write a URL that begins with https:// and a host"),
        issuer("sso.example.com", "write a URL that begins with https:// and a host"),
        issuer("https://", "write a URL that begins with https:// and a host"),
        issuer("https:///path", "write a URL that begins with https:// and a host"),
        issuer("https://me@sso.example.com", "must not contain user information (name or password before @)"),
        issuer("https://sso.example.com?a=b", "must not contain a query (?)"),
        issuer("https://sso.example.com?", "must not contain a query (?)"),
        issuer("\"https://sso.example.com#a\"", "must not contain a fragment (#)"),
        issuer("https://192.0.2.1", "must name a host, not an IP address (except with development: true)"),
        issuer("https://3221225985", "must name a host, not an IP address (except with development: true)"),
        issuer("https://0xC0000201", "must name a host, not an IP address (except with development: true)"),
        issuer("https://[2001:db8::1]", "must name a host, not an IP address (except with development: true)"),
        issuer("https://bücher.example", "write a URL of at most 512 printable ASCII characters, without spaces"),
        Refusal(
            SampleFile.replacing("https://sso", with: "http://sso") + "development: true\n",
            "1: issuer: http is only for localhost, 127.0.0.1 and [::1]; write https://"),
        .provider(
            "https://idp.example.com", "http://idp",
            "7: identity_providers[0].issuer: must begin with https:// (http only for a loopback host, with development: true)"
        ),
    ]

    static let algorithms: [Refusal] = [
        algorithm("none", "none is no signature: anyone could write such a token; \(accepted)"),
        algorithm("nOnE", "none is no signature: anyone could write such a token; \(accepted)"),
        algorithm(
            "HS256",
            "is symmetric: everyone who can verify such a token can also write one; \(accepted)"),
        algorithm("RS1", "is not a signature algorithm that is accepted here; \(accepted)"),
        algorithm("rs256", "is not a signature algorithm that is accepted here; \(accepted)"),
        .provider(
            "[RS256]", "[RS256, HS512]",
            "9: identity_providers[0].algorithms[1]: is symmetric: everyone who can verify such a token can also write one; \(accepted)"
        ),
        .provider(
            "[RS256]", "[]", "9: identity_providers[0].algorithms: must name at least one algorithm, such as RS256"),
        .provider("[RS256]", "RS256", "9: identity_providers[0].algorithms: must be a list"),
        .provider(
            "[RS256]", "[EdDSA, Ed25519]",
            "9: identity_providers[0].algorithms[1]: is the same algorithm as one before; remove it"),
        .provider(
            "    algorithms: [RS256]\n", "",
            "7: identity_providers[0].algorithms: is missing; write what the identity provider signs id_tokens with, such as [RS256]"
        ),
    ]

    static let listeners: [Refusal] = [
        .added(
            "public: { listen: 0.0.0.0:8443 }",
            "10: public.listen: plain HTTP is for loopback, such as 127.0.0.1:8080, and for a Unix socket, such as unix:/run/native-sso/public; write tls.certificate and tls.key, or plain_http: behind-proxy where only a proxy that terminates TLS reaches this address"
        ),
        .added(
            "public: { plain_http: anywhere }", "10: public.plain_http: write one of loopback, behind-proxy"),
        .added(
            "public: { listen: \"unix:run/x\" }", "10: public.listen: \(socket)"),
        .added(
            "public: { listen: \"unix:/\(String(repeating: "a", count: 103))\" }", "10: public.listen: \(socket)"),
        .added(
            "public: { listen: systemd }",
            "10: public.listen: plain HTTP is for loopback, such as 127.0.0.1:8080, and for a Unix socket, such as unix:/run/native-sso/public; write tls.certificate and tls.key, or plain_http: behind-proxy where only a proxy that terminates TLS reaches this address"
        ),
        .added(
            "development: true\npublic: { listen: 10.0.0.1:80, plain_http: behind-proxy }",
            "11: public.listen: with development: true every listener must be on loopback, such as 127.0.0.1:8080"),
        .added(
            "public: { trusted_proxies: [10.0.0.1, 0.0.0.0/0] }",
            "10: public.trusted_proxies[1]: would let every caller choose its own address; write the proxies' addresses"
        ),
        .added(
            "public: { trusted_proxies: [unix] }",
            "10: public.trusted_proxies: unix is for a listener on a Unix socket, and listen is an address"),
        .added(
            "internal: { listen: 0.0.0.0:8081 }",
            "10: internal.listen: the internal listener knows no passwords: listen on loopback, such as 127.0.0.1:8081, set tls.client_ca, or set allow_non_loopback: true where the network keeps strangers away"
        ),
        .added(
            "internal: { listen: \"[::ffff:127.0.0.1]:8081\" }",
            "10: internal.listen: write a numeric address and a port, such as 127.0.0.1:8080 or [::1]:8080"
        ),
        .added(
            "development: true\ninternal: { listen: 0.0.0.0:8081, allow_non_loopback: true }",
            "11: internal.listen: with development: true every listener must be on loopback, such as 127.0.0.1:8081"),
        .added(
            "development: true\npublic: { listen: 192.0.2.1:80 }",
            "11: public.listen: with development: true every listener must be on loopback, such as 127.0.0.1:8080"),
        .added(
            "internal: { listen: 127.0.0.1:8080 }",
            "10: internal.listen: public.listen already takes 127.0.0.1:8080; write another port"),
        .added(
            "internal: { listen: \"[::]:8080\", allow_non_loopback: true }",
            "10: internal.listen: public.listen already takes 127.0.0.1:8080; write another port"),
        .added(
            "public: { trusted_proxies: [10.0.0.1/8] }",
            "10: public.trusted_proxies[0]: write an address or a block of them, such as 10.0.0.0/8 or 2001:db8::7, or unix"
        ),
        .added(
            "public: { trusted_proxies: [10.0.0.1], forwarded_header: via }",
            "10: public.forwarded_header: write one of x-forwarded-for, forwarded"),
        .added(
            "public: { forwarded_header: forwarded }",
            "10: public.forwarded_header: is believed from trusted_proxies alone, and none are given"),
        .added("public: { listen: localhost:8080 }", "10: public.listen: \(address)"),
        .added("public: { listen: \"::1:8080\" }", "10: public.listen: \(address)"),
        .added("public: { listen: 8080 }", "10: public.listen: \(address)"),
        .added("public: { listen: \":8080\" }", "10: public.listen: \(address)"),
        .added("public: { listen: 127.1:8080 }", "10: public.listen: \(address)"),
        .added(
            "public: { listen: 127.0.0.1:65536 }", "10: public.listen: write a port from 0 to 65535 after the address"),
        .added(
            "public: { listen: 127.0.0.1:080 }", "10: public.listen: write a port from 0 to 65535 after the address"),
        .added(
            "public: { max_connections: 0 }", "10: public.max_connections: write a whole number from 1 to 1000000"),
        .added(
            "public: { max_buffered_mib: 0 }", "10: public.max_buffered_mib: write a whole number from 1 to 65536"),
    ]
}
