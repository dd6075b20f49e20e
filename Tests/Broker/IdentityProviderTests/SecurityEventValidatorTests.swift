import BrokerTesting
import JOSE
import NativeSSO
import StrictCoding
import Testing

@testable import IdentityProvider

/// Security event tokens (RFC 8417, RFC 8935) and revocation JWTs, each rule under a valid signature.
@Suite struct SecurityEventValidatorTests {
    private static let transmitter = Issuer(validated: "https://idp.example.com/org")
    private static let own = "https://sso.example.com"
    private static let revoked = "https://schemas.openid.net/secevent/caep/event-type/session-revoked"
    private static let disabled = "https://schemas.openid.net/secevent/risc/event-type/account-disabled"
    private static let enabled = "https://schemas.openid.net/secevent/risc/event-type/account-enabled"
    private static let user = Subject(validated: "248289761001")
    private static let session = SessionID(validated: "08a5019c")
    private static let iss = #"{"format":"iss_sub","iss":"https://idp.example.com","sub":"248289761001"}"#
    private static let sid = #"{"format":"opaque","id":"08a5019c"}"#
    private static let body = #"{"sub_id":\#(iss)}"#

    private let provider: TestProvider
    private let key: TestKey
    private let fetcher: ScriptedFetcher

    init() throws {
        key = try TestKey.shared(.es256)
        fetcher = try ScriptedFetcher([key, try TestKey.shared(.es384)])
        provider = TestProvider(fetcher)
    }

    private func json(_ text: String) throws -> JSONValue { try JSONReader.parse(Array(text.utf8)) }
    private func time(_ offset: Int64) -> JSONValue { .number(JSONNumber(TestProvider.start.seconds + offset)) }

    private func validator(reach: LogoutReach = .withoutSID) -> SecurityEventValidator {
        let signer = TrustedSigner(
            issuer: Self.transmitter, keys: provider.keys, algorithms: [.es256],
            policy: EventPolicy(provider: TestProvider.issuer, audiences: [Self.own], reach: reach))
        return SecurityEventValidator(events: [signer], revocations: [signer])
    }

    /// A good event, apart from `changes`.
    private func event(
        _ event: String = revoked, _ content: String = "{}", _ changes: [(String, JSONValue?)] = [],
        type: String? = "secevent+jwt", by key: TestKey? = nil
    ) throws -> String {
        var claims = JSONObject()
        claims["iss"] = .string(Self.transmitter.string)
        claims["aud"] = .string(Self.own)
        claims["iat"] = time(0)
        claims["jti"] = .string("one")
        claims["sub_id"] = try json(Self.iss)
        claims["events"] = try json(#"{"\#(event)":\#(content)}"#)
        for (name, value) in changes { claims[name] = value }
        return try (key ?? self.key).sign(claims: claims, type: type)
    }

    private func outcome(_ token: String, reach: LogoutReach = .withoutSID) async -> Result<SecurityEvent, Refused> {
        do throws(EventError) {
            return .success(
                try await validator(reach: reach).verify(event: LogoutToken(token), at: provider.wallClock.now))
        } catch {
            return .failure(Refused(error))
        }
    }

    /// The refusal, or `nil` for any other failure.
    struct Refused: Error, Equatable {
        let reason: EventRefusal?
        init(_ error: EventError) {
            if case .refused(let reason) = error { self.reason = reason } else { reason = nil }
        }
        init(_ reason: EventRefusal) { self.reason = reason }
    }

    private func expect(
        _ reason: EventRefusal, _ token: String, _ place: SourceLocation = #_sourceLocation
    ) async {
        #expect(await outcome(token) == .failure(Refused(reason)), sourceLocation: place)
    }

    private func signal(_ token: String, reach: LogoutReach = .withoutSID) async throws -> ProviderSignal {
        guard case .signal(let signal) = try await outcome(token, reach: reach).get() else { throw Refused(.events) }
        return signal
    }

    @Test func readsEveryEvent() async throws {
        for (type, cause) in [
            (Self.revoked, LogoutCause.sessionRevoked), (Self.disabled, .accountDisabled),
            (Self.enabled, .accountEnabled),
        ] {
            let signal = try await signal(try event(type))
            #expect(signal.cause == cause && signal.issuer == TestProvider.issuer)
            #expect(signal.subject == .user(Self.user) && signal.signer == Self.transmitter)
            #expect(signal.effectiveAt == TestProvider.start && signal.tokenID == "one")
            #expect(signal.refusedAfter == TestProvider.start.adding(86_460))
        }
        // The event's own time counts before the token's.
        let old = TestProvider.start.seconds - 5_000
        for text in ["\(old)", "\(old).75"] {
            let earlier = try await signal(try event(Self.revoked, #"{"event_timestamp":\#(text)}"#))
            #expect(earlier.effectiveAt.seconds == old)
        }
        for type in ["https://schemas.openid.net/secevent/ssf/event-type/verification", "urn:example:unknown"] {
            let token = try event(type, #"{"state":"x"}"#, [("sub_id", nil)])
            #expect(await outcome(token) == .success(.nothing(signer: Self.transmitter)))
        }
    }

    @Test func subjects() async throws {
        func subject(_ text: String, _ type: String = Self.revoked) throws -> String {
            try event(type, "{}", [("sub_id", json(text))])
        }
        let signers = Self.iss.replacing("example.com", with: "example.com/org")
        #expect(try await signal(try subject(signers)).subject == .user(Self.user))
        #expect(try await signal(try subject(Self.sid)).subject == .session(Self.session))
        let both = #"{"format":"complex","user":\#(Self.iss),"session":\#(Self.sid)}"#
        #expect(try await signal(try subject(both)).subject == .sessionAndWithoutSID(Self.session, of: Self.user))
        #expect(try await signal(try subject(both), reach: .user).subject == .sessionAndUser(Self.session, Self.user))
        let userAlone = try subject(#"{"format":"complex","user":\#(Self.iss)}"#)
        #expect(try await signal(userAlone).subject == .user(Self.user))
        // An account is a user.
        for type in [Self.disabled, Self.enabled] {
            await expect(.subjectFormat, try subject(Self.sid, type))
            await expect(.subjectFormat, try subject(both, type))
        }
        for text in [
            #"{"format":"account","uri":"acct:a@example.com"}"#,
            #"{"format":"complex","user":\#(Self.iss),"device":\#(Self.sid)}"#,
            #"{"format":"complex","session":\#(Self.iss)}"#,
        ] { await expect(.subjectFormat, try subject(text)) }
        for text in [
            "{}", #"{"format":7}"#, #"{"format":"iss_sub","iss":"https://idp.example.com"}"#,
            #"{"format":"iss_sub","iss":"https://idp.example.com","sub":""}"#, #"{"format":"opaque"}"#,
            #"{"format":"complex"}"#, #"{"format":"complex","user":1}"#,
        ] { await expect(.subjectMissing, try subject(text)) }
    }

    @Test func claims() async throws {
        for (claim, text, reason) in [
            ("aud", "1", .audience), ("aud", #"["https://sso.example.com",1]"#, .audience),
            ("aud", #"["https://other.example","https://sso.example.com"]"#, nil),
            ("iat", "1794913540", nil), ("iat", "1794913539", .issuedAt), ("iat", "1795000061", .issuedAt),
            ("iat", #""now""#, .issuedAt), ("jti", "1", .tokenID), ("jti", #""""#, .tokenID),
            ("events", "[]", .events), ("events", #"{"\#(Self.revoked)":1}"#, .events),
        ] as [(String, String, EventRefusal?)] {
            let token = try event(Self.revoked, "{}", [(claim, try json(text))])
            if let reason {
                await expect(reason, token)
            } else {
                #expect(try await signal(token).tokenID == "one", "\(claim) \(text)")
            }
        }
        // Milliseconds are far ahead: the abuse catalogue.
        for text in ["\(TestProvider.start.seconds + 61)", #""now""#, "1e308"] {
            await expect(.eventTime, try event(Self.revoked, #"{"event_timestamp":\#(text)}"#))
        }
    }

    /// Y-10: a key that has left the set signs no event.
    @Test func signatureAndKey() async throws {
        for type in ["global-token-revocation+jwt", "secevent"] {
            await expect(.wrongType, try event(type: type))
        }
        // The IdP itself is not the configured transmitter.
        await expect(.issuer, try event(Self.revoked, "{}", [("iss", .string(TestProvider.issuer.string))]))
        let old = try event()
        #expect(try await signal(old).tokenID == "one")
        let successor = try TestKey(.es256, keyID: "successor")
        try fetcher.answer([successor])
        provider.advance(by: 30)
        #expect(try await signal(try event(by: successor)).tokenID == "one")
        await expect(.keyRetired, old)
    }

    @Test func withoutAKeySetNothingIsRefused() async throws {
        let lost = TestProvider(ScriptedFetcher(.status(500)))
        let signer = TrustedSigner(
            issuer: Self.transmitter, keys: lost.keys, algorithms: [.es256],
            policy: EventPolicy(provider: TestProvider.issuer, audiences: [Self.own], reach: .session))
        let validator = SecurityEventValidator(events: [signer], revocations: [])
        let token = LogoutToken(try event())
        await #expect {
            _ = try await validator.verify(event: token, at: lost.wallClock.now)
        } throws: { error in
            if case .outage(let outage) = error as? EventError { outage.component == .identityProvider } else { false }
        }
    }

    // MARK: Global token revocation

    private func revocation(
        _ changes: [(String, JSONValue?)] = [], body: String = body
    ) async -> Result<ProviderSignal, Refused> {
        var claims = JSONObject()
        claims["iss"] = .string(Self.transmitter.string)
        claims["sub"] = .string("0oa1")
        claims["aud"] = .string(Self.own)
        claims["iat"] = time(0)
        claims["nbf"] = time(-300)
        claims["exp"] = time(300)
        claims["jti"] = .string("one")
        for (name, value) in changes { claims[name] = value }
        guard let text = try? key.sign(claims: claims, type: "global-token-revocation+jwt") else {
            return .failure(Refused(.missing))
        }
        do throws(EventError) {
            let token = LogoutToken(text)
            return .success(
                try await validator().verify(revocation: token, body: Array(body.utf8), at: provider.wallClock.now))
        } catch {
            return .failure(Refused(error))
        }
    }

    @Test func readsARevocation() async throws {
        for name in ["sub_id", "subject"] {
            let signal = try await revocation(body: Self.body.replacing("sub_id", with: name)).get()
            #expect(signal.cause == .globalTokenRevocation && signal.subject == .user(Self.user))
            #expect(signal.issuer == TestProvider.issuer && signal.effectiveAt == TestProvider.start)
            #expect(signal.refusedAfter == TestProvider.start.adding(360))
        }
    }

    @Test func refusesARevocation() async throws {
        func refused(_ reason: EventRefusal) -> Result<ProviderSignal, Refused> { .failure(Refused(reason)) }
        for (claim, value, reason) in [
            ("aud", try json(#"["https://sso.example.com","b"]"#), .audience), ("iat", time(61), .issuedAt),
            ("iat", time(-661), .issuedAt), ("exp", time(-60), .expiry), ("exp", time(601), .expiry),
            ("exp", time(0), .expiry), ("nbf", time(61), .notBefore),
        ] as [(String, JSONValue, EventRefusal)] {
            #expect(await revocation([(claim, value)]) == refused(reason))
        }
        for (body, reason) in [
            ("x", .bodyMalformed), (#"{"sub_id":1}"#, .subjectMissing),
            (#"{"sub_id":\#(Self.iss),"subject":\#(Self.iss)}"#, .subjectMissing),
        ] as [(String, EventRefusal)] {
            #expect(await revocation(body: body) == refused(reason))
        }
    }
}
