import BrokerHTTP
import BrokerTesting
import Foundation
import Glibc
import IdentityProvider
import JOSE
import NativeSSO
import Testing

@testable import native_sso

@Suite struct ReadingTests {
    // MARK: Environment

    @Test func variablesOverrideTheFile() throws {
        let configuration = try SampleFile.read(
            SampleFile.adding("tokens: { access: nonsense }"),
            [
                "NATIVE_SSO_TOKENS_ACCESS": "1m", "NATIVE_SSO_DATABASE_URL": "postgresql://a@127.0.0.1/b",
                "NATIVE_SSO_PUBLIC_MAX_CONNECTIONS": "7", "NATIVE_SSO_ISSUER": "https://other.example.com", "HOME": "/",
            ])
        #expect(configuration.tokens.access == .minutes(1))
        #expect(configuration.database.url == "postgresql://a@127.0.0.1/b")
        #expect(configuration.publicListener.maximumConnections == 7)
        #expect(configuration.issuer.string == "https://other.example.com")
    }

    @Test(arguments: [
        (
            "NATIVE_SSO_TOKEN_ACCESS", "1m",
            "NATIVE_SSO_TOKEN_ACCESS: is not a variable of the configuration; did you mean NATIVE_SSO_TOKENS_ACCESS?"
        ),
        ("NATIVE_SSO_X", "1", "NATIVE_SSO_X: is not a variable of the configuration; unset it"),
        (
            "NATIVE_SSO_IDENTITY_PROVIDERS_0_ISSUER", "https://evil.example",
            "NATIVE_SSO_IDENTITY_PROVIDERS_0_ISSUER: is not a variable of the configuration; unset it"
        ),
        (
            "NATIVE_SSO_TOKENS_ACCESS", "5",
            "NATIVE_SSO_TOKENS_ACCESS: tokens.access: write a whole number and a unit, such as 90d, 12h, 30m or 60s"
        ),
        (
            "NATIVE_SSO_DATABASE_PASSWORD_FILE", "",
            "NATIVE_SSO_DATABASE_PASSWORD_FILE: database.password_file: has no value; write one, or remove it to have the default"
        ),
    ])
    func variablesAreHeldToTheSameRules(name: String, value: String, expected: String) {
        #expect(SampleFile.problems(SampleFile.minimal, [name: value]) == [expected])
    }

    // MARK: Allowed values

    @Test(arguments: ["http://localhost:8080", "http://127.0.0.1:1", "http://[::1]:1", "https://192.0.2.1"])
    func developmentAllowsWhatALaptopHas(issuer: String) throws {
        let configuration = try SampleFile.read(
            SampleFile.replacing("https://sso.example.com", with: issuer)
                + "development: true\nlog: { level: trace }\nsessions: { idle: 2s }\n")
        #expect(configuration.isDevelopment)
        #expect(configuration.issuer.string == issuer)
        #expect(configuration.sessions.idle == 2)
    }

    @Test(arguments: [
        "postgresql://broker@localhost/x", "postgresql://broker@127.0.0.2:5433/x", "postgresql://broker@[::1]/x",
        "postgresql:///x?host=/run/postgresql", "postgresql://%2Frun%2Fpostgresql",
        "postgresql://broker@db1,db2/x?sslmode=verify-full",
        "postgresql://broker@localhost/x?hostaddr=192.0.2.1&sslmode=verify-full",
    ])
    func databaseMayBeLocalOrVerified(url: String) throws {
        let yaml = SampleFile.replacing("postgresql://broker@%2Frun%2Fpostgresql/native_sso", with: url)
        #expect(try SampleFile.read(yaml).database.url == url)
    }

    @Test func theInternalListenerMayBeAnywhereIfItAsksForCertificates() throws {
        let certificate = try TestCertificate.current()
        let (chain, key) = (try TemporaryFile(certificate.certificate), try TemporaryFile(certificate.key))
        func yaml(_ more: String) -> String {
            SampleFile.adding(
                "internal: { listen: '10.0.0.1:8081', tls: { certificate: \(chain.path), key: \(key.path)\(more) } }")
        }
        let tls = try SampleFile.read(yaml(", client_ca: \(chain.path)")).internalListener.tls
        #expect(tls?.clientAuthorities == chain.path)
        #expect(SampleFile.problems(yaml("")).contains { $0.contains("internal.listen: the internal listener knows") })
        #expect(
            SampleFile.problems(yaml(", client_ca: \(key.path)")).contains {
                $0.contains("internal.tls.client_ca: the file holds no certificates of authorities")
            })
    }

    @Test func metricsMayHaveAnAddressOfTheirOwn() throws {
        #expect(try SampleFile.read(SampleFile.minimal).metrics == nil)
        let metrics = try SampleFile.read(SampleFile.adding("metrics: { listen: '127.0.0.1:8083' }")).metrics
        #expect(metrics?.listen.port == 8083)
        for (listen, problem) in [("10.0.0.1:8083", "asks for no password"), ("127.0.0.1:8081", "already takes")] {
            #expect(
                SampleFile.problems(SampleFile.adding("metrics: { listen: '\(listen)' }")).contains {
                    $0.contains("metrics.listen") && $0.contains(problem)
                }, "\(listen)")
        }
        #expect(
            try SampleFile.read(
                SampleFile.adding("metrics: { listen: '10.0.0.1:8083', allow_non_loopback: true }")
            ).metrics != nil)
    }

    // MARK: Warnings

    @Test(arguments: ["[127.0.0.1]", "[]"])
    func aProxyThatIsNotNamedIsDoubtful(_ proxies: String) throws {
        #expect(try SampleFile.warnings(SampleFile.minimal) == [SampleFile.unnamedProxy])
        #expect(try SampleFile.warnings(SampleFile.adding("public: { trusted_proxies: \(proxies) }")).isEmpty)
        #expect(try SampleFile.warnings(SampleFile.adding("development: true")).isEmpty)
    }

    /// No exchange succeeds then, unless something registers the sessions.
    @Test(arguments: [
        ("", true), ("    admit_on_first_sight: true", false), ("    enrolment: exchange", false),
        ("    code_relay: {}", false), (other("subject_prefix: b, admit_on_first_sight: true"), false),
        (other("subject_prefix: b, admit_on_first_sight: true, disabled: true"), true),
        (other("subject_prefix: b, enrolment: exchange, disabled: true"), true),
        // They have a warning of their own.
        ("    disabled: true", false),
    ])
    func aConfigurationInWhichNoSessionBegins(lines: String, isDoubtful: Bool) throws {
        let warnings = try SampleFile.allWarnings(SampleFile.adding(lines))
        #expect(warnings.contains(SampleFile.beginsNoSession) == isDoubtful, "\(warnings)")
    }

    @Test(arguments: [
        ("sessions: { idle: 1h }\ntokens: { access: 1h }", false),
        ("sessions: { idle: 1h }\ntokens: { access: 61m }", true),
        ("development: true\nsessions: { idle: 5m }", false), ("development: true\nsessions: { idle: 299s }", true),
    ])
    func anAccessTokenThatOutlivesAnIdleSession(lines: String, isDoubtful: Bool) throws {
        let warnings = try SampleFile.warnings(SampleFile.adding(lines))
        #expect(warnings.contains { $0.contains("tokens.access: is longer") } == isDoubtful, "\(warnings)")
    }

    @Test func limitsByAddressHoldBehindANamedProxy() throws {
        let limits = "limits: { address: 1/1m, network: 2/1m, client_failures: 3/1m }"
        let proxied = "public: { trusted_proxies: [127.0.0.1] }\n\(limits)"
        #expect(try SampleFile.read(SampleFile.adding(proxied)).limits.network != nil)
        let off = "limits: { address: off, network: off, client_failures: off }"
        #expect(try SampleFile.read(SampleFile.adding(off)).limits.address == nil)
    }

    @Test func whatProofsAreForIsTheIssuersTokenEndpointUnlessSaidOtherwise() throws {
        let standard = try SampleFile.read(SampleFile.adding("dpop: { nonce: off }")).dpop
        #expect(standard.tokenEndpoint == "https://sso.example.com/token")
        #expect(standard.nonce == .off)
        let other = try SampleFile.read(
            SampleFile.adding("dpop: { nonce: required, token_endpoint: \"https://Login.example.com:443/sso/token\" }")
        ).dpop
        #expect(other.target.description == "https://login.example.com/sso/token")
        #expect(other.tokenEndpoint == "https://Login.example.com:443/sso/token")
        #expect(other.nonce == .required)
        #expect(other.nonceLifetime == .minutes(5))
    }

    /// Each user of each provider, as the tokens name one.
    @Test(
        arguments: [
            ("", ["alice"]), ("    subject_prefix: a|", ["a|alice"]),
            (other("subject_prefix: b|"), ["alice", "b|alice"]),
            ("    subject_prefix: a|\n" + other(""), ["a|alice", "alice"]),
            (other("shares_subjects_with: \"https://idp.example.com\""), ["alice", "alice"]),
            (
                "    subject_prefix: a|\n" + other("shares_subjects_with: \"https://idp.example.com\""),
                ["a|alice", "a|alice"]
            ),
            // Refreshes of a disabled provider's logins go on, if its users have a name of their own.
            (other("subject_prefix: b|, disabled: true"), ["alice", "b|alice"]),
            (other("disabled: true"), ["alice", nil]), ("    disabled: true\n" + other(""), [nil, "alice"]),
            ("    disabled: true", ["alice"]), ("    disabled: true\n" + other("disabled: true"), [nil, nil]),
        ] as [(String, [String?])])
    func namesOfUsers(_ lines: String, _ names: [String?]) throws {
        let configuration = try SampleFile.read(SampleFile.adding(lines))
        let found = configuration.identityProviders.map {
            try? configuration.subjects.name(Subject(validated: "alice"), at: $0.issuer).string
        }
        #expect(found == names)
    }

    private static func other(_ keys: String) -> String {
        "  - { issuer: \"https://b.example.com\", profiles: [device-id], algorithms: [RS256], \(keys) }"
    }
}
