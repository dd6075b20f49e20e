@testable import BrokerHTTP
import BrokerTesting
import JOSE
import NativeSSO
import OAuthWire
import StrictCoding
import RegistryConformance
import Testing

@Suite("The rules of private_key_jwt", .timeLimit(.minutes(1)))
struct ClientAssertionTests {
    private static let signer = ClientID(validated: "signer")
    private static let now = FixedClock().now.seconds

    /// An assertion before it is signed.
    struct Bent: Sendable {
        var key: TestKey
        var header: JSONObject
        var claims: JSONObject
        var rewrites: @Sendable (String) -> String = { $0 }

        init() throws {
            key = try TestKey.shared(.es256)
            header = key.header(type: "client-authentication+jwt")
            claims = JSONObject()
            claims["iss"] = .string("signer")
            claims["sub"] = .string("signer")
            claims["aud"] = .string(Domain.broker.string)
            claims["exp"] = .number(JSONNumber(now + 60))
            claims["iat"] = .number(JSONNumber(now))
            claims["jti"] = .string("once")
        }

        var text: String { get throws { rewrites(try key.sign(header: header, payload: claims)) } }
    }

    struct Row: Sendable {
        let title: String
        /// `nil`: the assertion is good.
        let reason: ClientRefusal?
        let bend: @Sendable (inout Bent) throws -> Void

        init(
            _ title: String, _ reason: ClientRefusal? = nil, _ bend: @escaping @Sendable (inout Bent) throws -> Void
        ) {
            (self.title, self.reason, self.bend) = (title, reason, bend)
        }

        /// One claim, as JSON text; `nil` leaves it out.
        static func claim(_ name: String, _ json: String?, _ reason: ClientRefusal? = nil) -> Row {
            Row("\(name) \(json ?? "missing")", reason) {
                $0.claims[name] = try json.map { try JSONReader.parse(Array("[\($0)]".utf8)).array?[0] ?? .null }
            }
        }
    }

    static let rows: [Row] =
        [
            Row("typ JWT") { $0.header["typ"] = .string("JWT") },
            Row("no typ") { $0.header["typ"] = nil },
            Row("an algorithm that no client may use", .assertionAlgorithm) { bent in
                bent.key = try TestKey.shared(.es384)
                bent.header = bent.key.header()
            },
            Row("a critical header", .assertionHeader) { $0.header["crit"] = .array([.string("exp")]) },
            Row("no kid, and one key that fits") { $0.header["kid"] = nil },
            Row("RS256") { bent in
                bent.key = try TestKey.shared(.rs256)
                bent.header = bent.key.header()
            },
            Row("a changed octet", .assertionSignature) {
                $0.rewrites = { String($0.dropLast(4)) + ($0.hasSuffix("AAAA") ? "BBBA" : "AAAA") }
            },
            Row("encrypted", .assertionMalformed) { $0.rewrites = { $0 + ".a.b" } },
            Row("too long", .assertionMalformed) { $0.claims["x"] = .string(String(repeating: "x", count: 5000)) },
            Row("twice the same claim", .assertionMalformed) { bent in
                let (header, key) = (bent.header, bent.key)
                bent.rewrites = { _ in
                    let text = String(decoding: header.octets, as: UTF8.self)
                    return (try? key.sign(header: text, payload: #"{"sub":"signer","sub":"signer"}"#)) ?? ""
                }
            },
        ] + [
            .claim("iss", #""signer ""#, .assertionIssuer), .claim("iss", "7", .assertionIssuer),
            .claim("sub", #""Signer""#, .assertionSubject), .claim("sub", #"["signer"]"#, .assertionSubject),
            .claim("aud", #"["https://sso.example.com","https://sso.example.com"]"#, .assertionAudience),
            .claim("aud", "[7]", .assertionAudience),
            .claim("exp", "\"\(now + 60)\"", .assertionExpiry),
            .claim("exp", "\(now - 60)", .assertionExpiry), .claim("exp", "\(now - 59)"),
            .claim("exp", "\(now + 300)"), .claim("exp", "\(now + 301)", .assertionExpiry),
            .claim("exp", "1e308", .assertionExpiry), .claim("exp", "-1", .assertionExpiry),
            .claim("iat", nil), .claim("iat", "\(now + 60)"), .claim("iat", "\(now + 61)", .assertionIssuedAt),
            .claim("iat", #""yesterday""#, .assertionIssuedAt), .claim("iat", "\(now - 241)", .assertionExpiry),
            .claim("nbf", "\(now + 60)"), .claim("nbf", "\(now + 61)", .assertionNotBefore),
            .claim("nbf", "null", .assertionNotBefore),
            .claim("jti", #""""#, .assertionID), .claim("jti", "7", .assertionID),
            .claim("jti", "\"\(String(repeating: "j", count: 255))\""),
            .claim("jti", "\"\(String(repeating: "j", count: 256))\"", .assertionID),
            Row("without iat, five minutes and the skew") {
                $0.claims["iat"] = nil
                $0.claims["exp"] = .number(JSONNumber(now + 360))
            },
            Row("without iat, one second more", .assertionExpiry) {
                $0.claims["iat"] = nil
                $0.claims["exp"] = .number(JSONNumber(now + 361))
            },
        ]

    private static func credentials() throws -> ClientCredentials {
        ClientCredentials(
            keys: try [SignatureAlgorithm.es256, .rs256].map { algorithm in
                let key = try TestKey.shared(algorithm)
                return ClientKey(
                    id: ClientKeyID(validated: key.keyID ?? ""),
                    publicJWK: String(decoding: key.publicKey.json.octets, as: UTF8.self))
            })
    }

    private static func form(_ assertion: String) -> Requests.Parameters {
        Requests.changed(
            Requests.exchange,
            [
                ("client_id", "signer"), ("client_assertion", assertion),
                ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ])
    }

    @Test("Each rule has its limits, and a refused assertion is not used up")
    func rules() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.directory.put(try Self.credentials(), of: Self.signer)
            for row in Self.rows {
                let used = broker.domain.registry.usedAssertions.count
                var bent = try Bent()
                bent.claims["jti"] = .string(row.title)
                try row.bend(&bent)
                let answer = try #require(try await broker.answer(Self.form(try bent.text)))
                let line = try #require(broker.log.requests.last)
                #expect(line.string("client_id") == "signer", "\(row.title)")
                #expect(line.string("reason") == row.reason?.row.reason ?? "none", "\(row.title)")
                #expect(answer.status == (row.reason == nil ? 200 : 400), "\(row.title)")
                let isUsed = broker.domain.registry.usedAssertions.count > used
                #expect(isUsed == (row.reason == nil), "\(row.title)")
            }
        }
    }

    @Test("A client may be allowed what its library writes: the token endpoint in aud, and an hour")
    func asLibrariesMakeIt() async throws {
        try await TestBroker.run { broker async throws in
            var client = Domain.client("signer", authentication: .privateKeyJWT)
            client.assertionAudience = .tokenEndpoint
            client.assertionLifetime = .hours(1)
            broker.domain.directory.put(client)
            broker.domain.directory.put(try Self.credentials(), of: Self.signer)
            let (issuer, endpoint) = (Domain.broker.string, "https://sso.example.com/token")
            for (audience, seconds, reason) in [
                ([endpoint], 3600, "none"), ([issuer], 60, "none"), ([issuer, endpoint], 60, "none"),
                ([endpoint], 3601, "client_assertion_exp"), ([endpoint + "/"], 60, "client_assertion_aud"),
                ([endpoint, "https://idp.example.com"], 60, "client_assertion_aud"),
                ([endpoint, issuer, endpoint], 60, "client_assertion_aud"),
            ] {
                var bent = try Bent()
                bent.claims["aud"] = .array(audience.map { .string($0) })
                bent.claims["exp"] = .number(JSONNumber(Self.now + Int64(seconds)))
                bent.claims["jti"] = .string("\(audience) \(seconds)")
                #expect(try await broker.answer(Self.form(try bent.text))?.status == (reason == "none" ? 200 : 400))
                #expect(broker.log.requests.last?.string("reason") == reason, "\(audience) \(seconds)")
            }
        }
    }

    @Test("A second use is refused, and the first is remembered until the assertion expires")
    func once() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.directory.put(try Self.credentials(), of: Self.signer)
            let form = Self.form(try Bent().text)
            #expect(try await broker.answer(form)?.status == 200)
            #expect(try await broker.answer(form)?.status == 400)
            #expect(broker.log.requests.last?.string("reason") == "client_assertion_replayed")
            #expect(Array(broker.domain.registry.usedAssertions.values) == [UnixTime(seconds: Self.now + 120)])
            // Counted by the assertion, whatever else the request holds, and apart from unauthenticated refusals.
            for number in 0..<20 {
                let other = Requests.changed(form, [("subject_token", "\(number)")])
                #expect(try await broker.answer(other)?.error == "invalid_client")
            }
            let replays = broker.domain.audit.events.filter { $0.reason == "client_assertion_replayed" }
            #expect(replays.count == AuditLimit.repeated.burst)
        }
    }

    @Test("A refusal for the client or the form does not use up the assertion")
    func usedLast() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.directory.put(try Self.credentials(), of: Self.signer)
            let form = Self.form(try Bent().text)
            for (changes, reason) in [
                ([("subject_token", nil)], "subject_token_missing"), ([("audience", nil)], "audience_missing"),
                ([("audience", "https://nobody.example")], "audience_unknown"),
                ([("grant_type", "refresh_token")], "parameter_of_other_grant"),
            ] as [([(String, String?)], String)] {
                #expect(try await broker.answer(Requests.changed(form, changes))?.status == 400)
                #expect(broker.log.requests.last?.string("reason") == reason)
            }
            broker.domain.directory.put(
                Domain.client("signer", authentication: .privateKeyJWT, grants: [.refreshToken]))
            #expect(try await broker.answer(form)?.error == "unauthorized_client")
            broker.domain.directory.put(Domain.client("signer", authentication: .privateKeyJWT, isEnabled: false))
            #expect(try await broker.answer(form)?.error == "invalid_client")
            #expect(broker.log.requests.last?.string("reason") == "client_disabled")
            #expect(broker.domain.audit.events.last?.client == Self.signer)
            #expect(broker.domain.registry.usedAssertions.isEmpty)
            broker.domain.directory.put(Domain.client("signer", authentication: .privateKeyJWT))
            #expect(try await broker.answer(form)?.status == 200)
        }
    }

    @Test("An unreadable key is an outage for its client, and reported once")
    func unreadableKey() async throws {
        try await TestBroker.run { broker async throws in
            let keys = try Self.credentials().keys
            let broken = ClientKey(id: ClientKeyID(validated: "test-ES256"), publicJWK: #"{"kty":"EC","alg":"ES256"}"#)
            broker.domain.directory.put(ClientCredentials(keys: [broken, keys[1]]), of: Self.signer)
            var bent = try Bent()
            bent.key = try TestKey.shared(.rs256)
            bent.header = bent.key.header()
            for assertion in [try Bent().text, try bent.text, try Bent().text] {
                #expect(try await broker.answer(Self.form(assertion))?.status == 503)
                #expect(
                    broker.log.requests.last?.string("reason") == "database: a key of client signer cannot be read")
            }
            #expect(broker.domain.registry.usedAssertions.isEmpty)
            let lines = broker.log.all.split(separator: "\n").filter { $0.contains("a registered key of a client") }
            #expect(lines.count == 1)
            #expect(lines.allSatisfy { $0.contains("\"signer\"") && $0.contains("\"test-ES256\"") })
            // The corrected keys work at once.
            broker.domain.directory.put(ClientCredentials(keys: keys), of: Self.signer)
            #expect(try await broker.answer(Self.form(try Bent().text))?.status == 200)
        }
    }

    @Test("Assertions and secrets are never printed")
    func secrecy() throws {
        let text = try Bent().text
        let assertion = try ClientAssertion(text)
        let credentials: [ClientCredential] = [.assertion(.success(assertion)), .secret(Credential("hunter2"))]
        for credential in credentials {
            #expect(!"\(credential)".contains("hunter2") && !"\(credential)".contains(text.suffix(20)))
        }
        var dumped = ""
        dump(credentials, to: &dumped)
        #expect(!dumped.contains("hunter2") && !dumped.contains(text.suffix(20)))
    }
}
