@testable import BrokerHTTP
import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

@Suite("The internal listener", .timeLimit(.minutes(1)))
struct InternalListenerTests {
    @Test("/livez and /readyz have fixed octets")
    func health() async throws {
        try await TestBroker.run { broker async throws in
            #expect(try await broker.internalAnswer(Requests.get("/livez"))?.text == #"{"status":"live"}"#)
            let ready = try #require(try await broker.internalAnswer(Requests.get("/readyz")))
            #expect(ready.status == 200)
            #expect(ready.text == #"{"status":"ready","checks":[{"name":"database","status":"ok"}]}"#)
            #expect(ready.values("cache-control") == ["no-store"])

            broker.check.fail("db_unavailable")
            let unready = try #require(try await broker.internalAnswer(Requests.get("/readyz?verbose=1")))
            #expect(unready.status == 503)
            #expect(
                unready.text
                    == #"{"status":"unready","checks":[{"name":"database","status":"failed","reason":"db_unavailable"}]}"#
            )
            #expect(try await broker.internalAnswer(Requests.get("/livez"))?.status == 200)
        }
    }

    @Test("Until all listeners are bound, and from the beginning of a stop, the broker is not ready")
    func readinessOfTheProcess() async {
        let readiness = Readiness(checks: [])
        func problem() async -> String? {
            await readiness.report().results.first { $0.name == "process" }?.problem?.description
        }
        #expect(await problem() == "starting")
        readiness.begin()
        #expect(await readiness.report().isReady)
        readiness.drain()
        readiness.begin()
        #expect(await problem() == "draining")
    }

    @Test("The key set may be cached; without a key module it is a 503")
    func keySet() async throws {
        try await TestBroker.run { broker async throws in
            let answer = try #require(try await broker.internalAnswer(Requests.get("/.well-known/jwks.json")))
            #expect(answer.status == 200)
            #expect(answer.text == #"{"keys":[]}"#)
            #expect(answer.values("cache-control") == ["public, max-age=300"])
            #expect(answer.values("pragma").isEmpty)
            broker.keys.fail(with: .outage(Outage(.keyModule, "x")))
            #expect(try await broker.internalAnswer(Requests.get("/.well-known/jwks.json"))?.status == 503)
            broker.keys.fail(with: .broken("x"))
            #expect(try await broker.internalAnswer(Requests.get("/.well-known/jwks.json"))?.status == 500)
        }
    }

    @Test("The metadata follows the scopes of the clients")
    func discovery() async throws {
        try await TestBroker.run { broker async throws in
            func document() async throws -> JSONObject {
                let request = Requests.get("/.well-known/openid-configuration")
                let answer = try #require(try await broker.internalAnswer(request))
                return try #require(try JSONReader.parse(answer.body).object)
            }
            var client = Domain.client("app-three")
            client.allowedScope = Scope(["invoices.read"])
            broker.domain.directory.put(client)
            #expect(try await document().strings("scopes_supported")?.contains("invoices.read") == true)
            client.isEnabled = false
            broker.domain.directory.put(client)
            #expect(try await document().strings("scopes_supported")?.contains("invoices.read") == false)
            // A broker that has loaded no client yet.
            broker.domain.directory.fail(with: .outage(Outage(.database, "not loaded")))
            #expect(try await document().strings("scopes_supported") == ["openid"])
        }
    }

    @Test("An identity provider's authorization endpoint stands in the metadata with code and PKCE")
    func advertisedLogin() async throws {
        var options = TestBroker.Options()
        options.advertisedLogin = "https://idp.example.com/authorize"
        try await TestBroker.run(options) { broker async throws in
            let answer = try #require(
                try await broker.internalAnswer(Requests.get("/.well-known/openid-configuration")))
            let json = try #require(try JSONReader.parse(answer.body).object)
            #expect(json.string("authorization_endpoint") == "https://idp.example.com/authorize")
            #expect(json.strings("response_types_supported") == ["code"])
            #expect(json.strings("code_challenge_methods_supported") == ["S256"])
        }
    }

    /// With what OpenID Connect Discovery §3 requires, but for an `authorization_endpoint`: users log in at the IdP.
    @Test("Both metadata paths answer with any query")
    func metadata() async throws {
        try await TestBroker.run { broker async throws in
            for name in ["oauth-authorization-server", "openid-configuration?x=y"] {
                let answer = try #require(try await broker.internalAnswer(Requests.get("/.well-known/\(name)")))
                #expect(
                    answer.text
                        == #"{"issuer":"https://sso.example.com","token_endpoint":"https://sso.example.com/token","#
                        + #""jwks_uri":"https://sso.example.com/jwks.json","response_types_supported":["none"],"#
                        + #""grant_types_supported":["urn:ietf:params:oauth:grant-type:token-exchange","refresh_token"],"#
                        + #""token_endpoint_auth_methods_supported":["none","client_secret_basic","private_key_jwt"],"#
                        + #""token_endpoint_auth_signing_alg_values_supported":["ES256","PS256","RS256"],"#
                        + #""dpop_signing_alg_values_supported":["ES256","ES384","Ed25519","EdDSA","PS256","RS256"],"#
                        + #""scopes_supported":["openid","orders.read","payments","profile"],"#
                        + #""subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"],"#
                        + #""native_sso_supported":true}"#)
            }
        }
    }

    @Test("Other paths get 404, and other methods than GET and HEAD get 405")
    func elsewhere() async throws {
        try await TestBroker.run { broker async throws in
            for path in ["/", "/token", "/metrics/", "/debug/pprof", "/livez/../metrics"] {
                #expect(try await broker.internalAnswer(Requests.get(path))?.status == 404, "\(path)")
            }
            for (method, allowed) in [("DELETE", "GET, HEAD"), ("POSTX", "GET, HEAD, POST")] {
                let request = Requests.post("", target: "/livez", method: method)
                let answer = try #require(try await broker.internalAnswer(request))
                #expect(answer.status == 405 && answer.values("allow") == [allowed])
            }
        }
    }

    @Test(
        "A reader that has the document gets 304 without a body, and one with another gets all of it",
        arguments: ["/.well-known/jwks.json", "/.well-known/openid-configuration"])
    func entityTag(path: String) async throws {
        try await TestBroker.run { broker async throws in
            let whole = try #require(try await broker.internalAnswer(Requests.get(path)))
            let tag = try #require(whole.values("etag").first)
            #expect(tag.wholeMatch(of: /"[A-Za-z0-9_-]{43}"/) != nil, "\(tag)")
            try await RawClient.connect(to: broker.ports.internal) { client async throws in
                for (method, condition, status) in [
                    ("GET", tag, 304), ("HEAD", tag, 304), ("GET", "W/" + tag, 304), ("GET", "\"x\", " + tag, 304),
                    ("GET", "*", 304), ("GET", "\"x\"", 200), ("GET", String(tag.dropLast()), 200), ("GET", "", 200),
                ] {
                    try await client.send(
                        "\(method) \(path) HTTP/1.1\r\nHost: a\r\nIf-None-Match: \(condition)\r\n\r\n")
                    // The client would read a body as the beginning of the next answer.
                    let answer = try #require(try await client.answer(hasBody: status == 200))
                    #expect(answer.status == status, "\(method) \(condition)")
                    #expect(answer.values("etag") == [tag])
                    #expect(answer.values("cache-control") == ["public, max-age=300"])
                    #expect(answer.values("content-length").isEmpty == (status == 304))
                    #expect(answer.body == (status == 200 ? whole.body : []))
                }
            }
            let health = try #require(try await broker.internalAnswer(Requests.get("/livez")))
            #expect(health.values("etag").isEmpty)
        }
    }

    @Test("Each refusal has a reason, a log line and a count")
    func refusals() async throws {
        let rows = [
            (
                "POST /backchannel-logout HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", 413,
                "http_body_too_large"
            ),
            ("POST /backchannel-logout HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400, "http_host"),
            ("POST /backchannel-logout HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400, "http_malformed"),
            (Requests.post("a=b", target: "/backchannel-logout/"), 404, "http_unknown_path"),
            (Requests.post("a=b", target: "/livez"), 405, "http_method"),
            (Requests.post("a=b", target: "/backchannel-logout", method: "POSTX"), 405, "http_method_unknown"),
        ]
        try await TestBroker.run { broker async throws in
            for (request, status, reason) in rows {
                let answer = try #require(try await broker.internalAnswer(request))
                #expect(answer.status == status && answer.error == "invalid_request", "\(reason)")
                let line = try #require(broker.log.internalRequests.last)
                #expect(answer.values("x-request-id") == [line.string("request_id")])
                #expect(line.string("reason") == reason)
                #expect(
                    broker.metrics.text.contains(#"native_sso_refusals_total{reason="\#(reason)"} 1"# + "\n"))
            }
            #expect(try await broker.internalAnswer(Requests.get("/livez"))?.status == 200)
            #expect(broker.log.internalRequests.count == rows.count)
            #expect(broker.domain.audit.events.isEmpty)
        }
    }

    @Test("The metrics count requests by grant and outcome")
    func metrics() async throws {
        try await TestBroker.run { broker async throws in
            #expect(try await broker.answer(Requests.exchange)?.status == 200)
            let unknown = Requests.changed(Requests.exchange, [("client_id", "attacker-made")])
            #expect(try await broker.answer(unknown)?.status == 400)
            let answer = try #require(try await broker.internalAnswer(Requests.get("/metrics")))
            #expect(answer.values("content-type") == ["text/plain; version=0.0.4; charset=utf-8"])
            for line in [
                #"native_sso_requests_total{grant="token_exchange",outcome="granted"} 1"#,
                #"native_sso_requests_total{grant="token_exchange",outcome="refused"} 1"#,
                #"native_sso_refusals_total{reason="client_unknown"} 1"#,
                "native_sso_requests_in_flight 0", "native_sso_database_connections 7",
                #"native_sso_request_duration_seconds_bucket{grant="token_exchange",le="+Inf"} 2"#,
                #"native_sso_request_duration_seconds_count{grant="token_exchange"} 2"#,
            ] {
                #expect(answer.text.split(separator: "\n").contains { $0 == line }, "\(line)")
            }
        }
    }

    @Test("The metadata names the endpoints of the backchannel listener that there are")
    func backchannelMetadata() throws {
        func metadata(_ revocation: String?, _ introspection: String?, _ global: String?) throws -> JSONObject {
            let metadata = ServerMetadata(
                issuer: Domain.broker, tokenEndpoint: "https://sso.example.com/token", keySetURI: "x",
                signingAlgorithms: ["ES256"], revocationEndpoint: revocation, introspectionEndpoint: introspection,
                globalTokenRevocationEndpoint: global)
            return try #require(try JSONReader.parse(metadata.json).object)
        }
        let without = try metadata(nil, nil, nil).names
        let with = try metadata("https://a.example/revoke", "https://a.example/introspect", "https://a.example/global")
        for (name, url, methods) in [
            ("revocation", "https://a.example/revoke", ["none", "client_secret_basic", "private_key_jwt"]),
            ("introspection", "https://a.example/introspect", ["client_secret_basic", "private_key_jwt"]),
            ("global_token_revocation", "https://a.example/global", ["private_key_jwt"]),
        ] {
            #expect(with.string("\(name)_endpoint") == url)
            #expect(with.strings("\(name)_endpoint_auth_methods_supported") == methods)
            #expect(!without.contains { $0.hasPrefix(name) })
        }
        #expect(
            with.strings("introspection_endpoint_auth_signing_alg_values_supported") == ["ES256", "PS256", "RS256"])
    }
}
