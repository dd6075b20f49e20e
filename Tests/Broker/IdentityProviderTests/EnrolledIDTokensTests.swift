import BrokerTesting
import IdentityProvider
import JOSE
import NativeSSO
import StrictCoding
import Testing

/// Fresh id_tokens of an IdP, and the broker's own id_tokens of an enrolment.
@Suite struct EnrolledIDTokensTests {
    private static let broker = Issuer(validated: "https://sso.example.com")

    private let provider: TestProvider
    private let key: TestKey
    private let own: TestKey

    init() throws {
        key = try TestKey.shared(.es256)
        own = try TestKey.shared(.es256).renamed("ours")
        provider = TestProvider(try ScriptedFetcher([key]))
    }

    private func fresh(_ token: SubjectToken) async throws(IDTokenVerificationError) -> IDTokenClaims {
        try await provider.validator.verify(
            token, from: TestProvider.issuer, for: .enrolment, at: provider.wallClock.now
        ).claims
    }

    /// A retired key may verify an old token, but never a new login.
    @Test func aRetiredKeySignsNoLogin() async throws {
        let old = try provider.idToken(key)
        #expect(await provider.outcome(old) == .verified)
        try provider.fetcher.answer([try TestKey.shared(.rs256)])
        provider.advance(by: 600)
        // Makes the broker fetch the new set.
        #expect(await provider.outcome(try provider.idToken(try TestKey.shared(.rs256))) == .verified)
        #expect(await provider.outcome(old) == .verified)
        let login = await TestProvider.outcome { () throws(IDTokenVerificationError) in try await fresh(old) }
        #expect(login == .refused(.keyRetired))
    }

    // MARK: The broker's own

    private func validator(
        _ key: Result<JSONWebKey, JWSError>? = nil, subjects: SubjectPrefixes = TestProvider.subjects
    ) -> IDTokenValidator {
        let key = key ?? .success(own.publicKey)
        return IDTokenValidator(
            [.init(keys: provider.keys, algorithms: [.es256])], subjects: subjects,
            enrolled: EnrolledIDTokens(issuer: Self.broker, algorithms: [.es256]) { header in
                .waiting { () async throws(PortError) in
                    guard case .success(let found) = key else { throw .outage(Outage(.keyModule, "not loaded")) }
                    return header.keyID == found.keyID ? .success(found) : .failure(.unknownKey)
                }
            })
    }

    private func outcome(
        _ token: SubjectToken, of validator: IDTokenValidator? = nil
    ) async -> TestProvider.Outcome {
        let validator = validator ?? self.validator()
        return await TestProvider.outcome { () throws(IDTokenVerificationError) in
            try await validator.verify(token, from: Self.broker, for: .exchange, at: provider.wallClock.now).claims
        }
    }

    private func enrolled(_ key: TestKey? = nil, _ changes: [(String, JSONValue?)] = []) throws -> SubjectToken {
        try provider.idToken(
            key ?? own,
            [
                ("iss", .string(Self.broker.string)), ("idp", .string(TestProvider.issuer.string)),
                ("device_sso", .bool(true)),
            ] + changes)
    }

    @Test func whatIsNotOfAnEnrolment() async throws {
        // An id_token that an exchange gave beside the access token, and one of a removed IdP.
        for value in [nil, JSONValue.bool(false), .string("true"), .number(JSONNumber(1))] {
            #expect(await outcome(try enrolled(nil, [("device_sso", value)])) == .refused(.notEnrolled))
        }
        #expect(await outcome(try enrolled(nil, [("idp", nil)])) == .refused(.notEnrolled))
        // An access token of the broker, were it signed with the type of an id_token.
        #expect(await outcome(try enrolled(nil, [("session_id", .string("s"))])) == .refused(.accessToken))
        let gone = JSONValue.string("https://other.example.com")
        #expect(await outcome(try enrolled(nil, [("idp", gone)])) == .refused(.notEnrolled))
        // The IdP's key cannot sign for the broker, nor the broker's key for the IdP.
        #expect(await outcome(try enrolled(key)) == .refused(.unknownKey))
        let theirs = JSONValue.string(TestProvider.issuer.string)
        #expect(await outcome(try enrolled(nil, [("iss", theirs)])) == .refused(.issuerMismatch))
        let forged = try provider.idToken(
            key, [("idp", .string(TestProvider.issuer.string)), ("iss", .string(Self.broker.string))])
        #expect(await provider.outcome(forged) == .refused(.issuerMismatch))
    }

    /// The `sub` is the broker's name of the user. It leads back to the user of the IdP in `idp`, and to no other.
    @Test func namesTheUserOfItsProvider() async throws {
        func subject(_ name: String, _ prefix: String) async throws(IDTokenVerificationError) -> String {
            let other = Issuer(validated: "https://other.example")
            let subjects = SubjectPrefixes([TestProvider.issuer: prefix, other: prefix.isEmpty ? "partner|" : ""])
            guard let token = try? enrolled(nil, [("sub", .string(name))]) else { throw .refused(.malformed) }
            return try await validator(subjects: subjects).verify(
                token, from: Self.broker, for: .exchange, at: provider.wallClock.now
            ).claims.subject.string
        }
        #expect(try await subject("partner|alice", "partner|") == "alice")
        #expect(try await subject("alice", "") == "alice")
        // Issued while the IdP had no prefix; issued before the other IdP had one.
        for (name, prefix) in [("alice", "partner|"), ("partner|alice", "")] {
            #expect(
                await TestProvider.outcome { () throws(IDTokenVerificationError) in try await subject(name, prefix) }
                    == .refused(.notEnrolled))
        }
    }

    /// A missing key file on one replica is an outage and ends no login.
    @Test func aKeyThatIsNotLoaded() async throws {
        #expect(await outcome(try enrolled(), of: validator(.failure(.unknownKey))) == .outage(.keyModule))
    }

    @Test func withoutEnrolments() async throws {
        #expect(await outcome(try enrolled(), of: provider.validator) == .refused(.issuerMismatch))
        #expect(provider.fetcher.count == 0)
    }
}
