import BrokerHTTP
import BrokerTesting
import HTTPServer
import IdentityProvider
import JOSE
import Logging
import NativeSSO
import OAuthWire
import Testing

@testable import BrokerHTTP
@testable import native_sso

@Suite struct ConfigurationTests {
    /// Each key's default is on the guide's page, which `GuidePageTests` makes of the text that is read.
    @Test func minimalFileIsEnough() throws {
        let configuration = try SampleFile.read(SampleFile.minimal)
        #expect(configuration.issuer.string == "https://sso.example.com" && !configuration.isDevelopment)
        #expect(configuration.publicListener.tls == nil && configuration.publicListener.plainHTTP == .loopback)
        #expect(configuration.publicListener.trustedProxies.blocks.isEmpty)
        #expect(configuration.publicListener.maximumConnectionsPerAddress == nil)
        #expect(configuration.database.password == nil)
        #expect(configuration.lifetimes == Lifetimes() && configuration.limits == RequestLimits())
        let provider = try #require(configuration.identityProviders.first)
        let url = try #require(ProviderURL("https://idp.example.com/.well-known/openid-configuration"))
        #expect(provider.keySource == .discovery(url, keySetHosts: []))
        let slashed = SampleFile.replacing("https://idp.example.com", with: "https://idp.example.com/")
        #expect(try SampleFile.read(slashed).identityProviders.first?.keySource == provider.keySource)
        #expect(provider.policy.profiles == [.deviceSecret, .deviceSecretTransitional])
        #expect(!provider.isDisabled && !provider.policy.admitsOnFirstSight)
        #expect(!provider.policy.firstSightRequiresUnexpired)
    }

    @Test func everyKeyArrives() throws {
        let password = try TemporaryFile("tr0ub4dor\n")
        let keySet = try TemporaryFile(
            #"{"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","#
                + #""y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","kid":"1"}]}"#, mode: 0o644)
        let authority = try TemporaryFile(try TestCertificate.current().certificate, mode: 0o644)
        let configuration = try SampleFile.read(
            """
            issuer: https://sso.example.com/tenant
            public:
              listen: "[::1]:0"
              max_connections: 500
              max_connections_per_address: 9
              max_buffered_mib: 7
              trusted_proxies: [10.0.0.0/8, "2001:db8::7"]
              forwarded_header: forwarded
            internal: { listen: 10.0.0.1:9091, allow_non_loopback: true }
            database:
              url: postgresql://broker@db1:5432,db2/native_sso?sslmode=verify-full&target_session_attrs=read-write
              password_file: \(password.path)
              pool: 16
            keys: { directory: /keys }
            sessions: { absolute: 400d, idle: 1h, subject_token_max_age: 30d }
            tokens: { access: 10s, refresh_grace: 10m, unbound_refresh_grace: 0s }
            limits:
              listener: 3/1m
              address: 1/1s
              network: 2/2s
              client: 1000000/1d
              client_failures: 4/1m
              session: off
              user: 6/1m
              device: 7/1m
              device_failures: 8/1m
              logout: 9/1m
            log: { level: warning, format: text }
            identity_providers:
              - issuer: https://idp.example.com
                jwks_file: \(keySet.path)
                profiles: [device-secret, device-id]
                x_oath_urn: false
                algorithms: [ES256, PS384]
                audience_aliases: ["api://default"]
                hash_mode: full_sha256_hex
                legacy_id_token_type: true
                admit_on_first_sight: true
                first_sight_max_age: 1h
                first_sight_requires_unexpired: true
                enrolment: exchange
                require_unexpired: true
                subject_token_max_age: 12h
                jwks_refresh: 30s
                authorization_endpoint: https://login.example.com/authorize?tenant=7
                disabled: true
                revoke_on_removal: true
                logout: { audiences: [native-sso, other], allow_missing_exp: true, allow_typ_jwt: true, reach: user }
              - issuer: https://accounts.example.net
                discovery: https://accounts.example.net/custom?p=1
                jwks_hosts: [keys.example.org]
                ca_file: \(authority.path)
                profiles: [device-id]
                algorithms: [RS256]
            """)
        #expect(configuration.publicListener.listen.internet?.host == "::1")
        #expect(configuration.publicListener.listen.internet?.port == 0)
        #expect(configuration.publicListener.maximumConnectionsPerAddress == 9)
        #expect(configuration.publicListener.maximumConnections == 500)
        #expect(configuration.publicListener.maximumBufferedMiB == 7)
        let proxies = configuration.publicListener.trustedProxies
        #expect(proxies.blocks == [AddressBlock("10.0.0.0/8"), AddressBlock("2001:db8::7")])
        #expect(!proxies.includesUnixSocket && proxies.header == .forwarded)
        #expect(configuration.internalListener.listen.description == "10.0.0.1:9091")
        #expect(configuration.database.password?.secret == "tr0ub4dor")
        #expect(configuration.database.pool == 16)
        #expect(
            configuration.lifetimes
                == Lifetimes(
                    accessToken: 10, refreshGrace: .minutes(10), unboundRefreshGrace: 0, sessionIdle: .hours(1)))
        #expect(
            configuration.limits
                == RequestLimits(
                    listener: RateLimit(3, per: .seconds(60)),
                    address: RateLimit(1, per: .seconds(1)), network: RateLimit(2, per: .seconds(2)),
                    client: RateLimit(1_000_000, per: .seconds(86_400)),
                    clientFailures: RateLimit(4, per: .seconds(60)),
                    session: nil, user: RateLimit(6, per: .seconds(60)), device: RateLimit(7, per: .seconds(60)),
                    deviceFailures: RateLimit(8, per: .seconds(60)), logout: RateLimit(9, per: .seconds(60))))
        #expect(configuration.log == Configuration.Log(level: .warning, format: .text))

        let (first, second) = (configuration.identityProviders[0], configuration.identityProviders[1])
        #expect(first.keySource == .file(path: keySet.path))
        #expect(first.keySetRefresh == 30)
        #expect(first.revokesOnRemoval && !second.revokesOnRemoval)
        #expect(first.certificateAuthorities == nil && second.certificateAuthorities != nil)
        #expect(first.authorizationEndpoint == "https://login.example.com/authorize?tenant=7")
        #expect(second.authorizationEndpoint == nil)
        #expect(first.isDisabled)
        #expect(
            first.logout
                == LogoutPolicy(
                    audiences: ["native-sso", "other"].map(ClientID.init(validated:)), allowsMissingExpiry: true,
                    allowsJWTType: true, reach: .user))
        #expect(first.algorithms == [.es256, .ps384])
        let issuer = try #require(Issuer("https://idp.example.com"))
        #expect(
            first.policy
                == IssuerPolicy(
                    issuer: issuer, audienceAliases: ["api://default"], profiles: [.deviceSecret, .deviceID],
                    hashMode: .fullSHA256Hex, acceptsHyphenatedIDTokenType: true, admitsOnFirstSight: true,
                    maximumFirstSightAge: .hours(1), firstSightRequiresUnexpired: true, requiresUnexpiredIDToken: true,
                    maximumSubjectTokenAge: .hours(12), sessionLifetime: .days(400),
                    enrolsByExchange: true, isDisabled: true))
        #expect(configuration.enrolledPolicy == nil, "it is disabled")
        #expect(
            second.keySource
                == .discovery(
                    try #require(ProviderURL("https://accounts.example.net/custom?p=1")),
                    keySetHosts: ["keys.example.org"]))
        #expect(second.policy.maximumSubjectTokenAge == .days(30))
        #expect(second.logout == LogoutPolicy())
    }

    /// An enrolled login keeps the rules of its identity provider for age and expired id_tokens. The broker needs its keys for
    /// the greatest age.
    @Test func theAgeOfWhatIsEnrolled() throws {
        let configuration = try SampleFile.read(
            SampleFile.adding(
                """
                    enrolment: exchange
                    require_unexpired: true
                    subject_token_max_age: 30d
                  - issuer: https://other.example.com
                    profiles: [device-secret]
                    algorithms: [RS256]
                    enrolment: exchange
                    subject_prefix: other|
                    subject_token_max_age: 60d
                sessions: { subject_token_max_age: 1d }
                """))
        let policy = try #require(configuration.enrolledPolicy)
        #expect(policy.maximumSubjectTokenAge == .days(60) && !policy.acceptsHyphenatedIDTokenType)
        #expect(policy.providersRequiringUnexpired == [try #require(Issuer("https://idp.example.com"))])
        #expect(
            policy.maximumAgeByProvider == [
                try #require(Issuer("https://idp.example.com")): .days(30),
                try #require(Issuer("https://other.example.com")): .days(60),
            ])
    }

    @Test func otherNamesOfTheBroker() throws {
        let configuration = try SampleFile.read(
            SampleFile.adding(
                "    enrolment: exchange\n    legacy_id_token_type: true\naudience_aliases: [\"api://default\", broker]"
            ))
        let policy = try #require(configuration.enrolledPolicy)
        // Apps that use the older spelling of the token type also use it for an id_token from an enrolment.
        #expect(policy.acceptsHyphenatedIDTokenType)
        #expect(configuration.audienceAliases == ["api://default", "broker"])
        for name in ["https://sso.example.com", "api://default", "broker"] { #expect(policy.isNamed(by: name)) }
        #expect(!policy.isNamed(by: "API://default") && !policy.isNamed(by: "https://idp.example.com"))
    }

    @Test func passwordPrintsAsStars() throws {
        let password = try TemporaryFile("tr0ub4dor")
        let configuration = try SampleFile.read(
            SampleFile.replacing("database:\n", with: "database:\n  password_file: \(password.path)\n"))
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(configuration.database.password != nil)
        #expect(!"\(configuration)".contains("tr0ub4dor"))
        #expect(!String(reflecting: configuration).contains("tr0ub4dor"))
        #expect(!dumped.contains("tr0ub4dor"))
    }
}
