@testable import BrokerHTTP
import BrokerTesting
@testable import IdentityProvider
import JOSE
@testable import NativeSSO
import StrictCoding

/// The octets are a payload under a signature that is good: the fuzzer cannot sign.
extension Readers {
    private static let now = FixedClock().now
    private static let subjects = SubjectPrefixes([Issuer(validated: "https://idp.example.com"): ""])

    /// The claims of an id_token.
    static func idToken(_ octets: [UInt8]) throws -> Bool {
        guard let issuer = Issuer("https://idp.example.com"), let token = try signed(octets) else { return false }
        guard let claims = try? IDTokenClaims(token, issuer: issuer, subjects: subjects, at: now) else { return false }
        try hold(claims.audience.contains(claims.sourceClient), "the source is not in the audience")
        try hold(claims.issuedAt < claims.expiresAt, "expires before it was issued")
        try hold(token.claims.string("iss").map { $0.utf8.elementsEqual(issuer.string.utf8) } == true, "another issuer")
        let again = try signed(token.claims.octets).map {
            try IDTokenClaims($0, issuer: issuer, subjects: subjects, at: now)
        }
        try hold(
            again?.subject == claims.subject && again?.sessionID == claims.sessionID
                && again?.sourceClient == claims.sourceClient && again?.issuedAt == claims.issuedAt
                && again?.expiresAt == claims.expiresAt, "an id_token is not read as it was written")
        return true
    }

    /// The claims of a client assertion; also, as they stand, an assertion of a stranger.
    static func clientAssertion(_ octets: [UInt8]) throws -> Bool {
        if let assertion = try? ClientAssertion(String(decoding: octets, as: UTF8.self)) {
            _ = assertion.claimedClient
            let key = AssertionKey.registered(try TestKey.shared(assertion.header.algorithm).publicKey)
            try hold((try? assertion.verified(by: key)) == nil, "an assertion that nobody signed")
        }
        guard let id = ClientID("signer"), let token = try signed(octets) else { return false }
        let names = ["https://sso.example.com"]
        let client = Client(id: id, allowedScope: .empty, defaultScope: .empty, audiences: [])
        guard let assertion = try? PresentedAssertion(token, of: client, at: names, now: now) else { return false }
        // It is remembered until then: long enough that it cannot be used twice, and not for ever.
        let latest = now.adding(client.assertionLifetime).adding(PresentedAssertion.skew)
            .adding(PresentedAssertion.skew)
        try hold(assertion.until > now && assertion.until <= latest, "good until \(assertion.until)")
        let again = try signed(token.claims.octets).map {
            try PresentedAssertion($0, of: client, at: names, now: now)
        }
        try hold(again?.id == assertion.id && again?.until == assertion.until, "not read as it was written")
        return true
    }

    /// The claims of a logout token, also of providers that leave `exp` out.
    static func logoutToken(_ octets: [UInt8]) throws -> Bool {
        guard let issuer = Issuer("https://idp.example.com"), let token = try signed(octets) else { return false }
        let lenient = LogoutPolicy(allowsMissingExpiry: true)
        let strict = try? LogoutTokenClaims(token, issuer: issuer, policy: LogoutPolicy(), at: now)
        guard let claims = try? LogoutTokenClaims(token, issuer: issuer, policy: lenient, at: now) else {
            try hold(strict == nil, "strict is more than lenient")
            return false
        }
        try hold(strict == nil || strict == claims, "two readings of one logout token")
        try hold(strict != nil || !token.claims.contains("exp"), "lenient in more than a missing exp")
        try hold(!token.claims.contains("nonce"), "an id_token is taken for a logout token")
        try hold(!claims.audience.isEmpty && !claims.signal.tokenID.isEmpty, "no audience or no jti")
        // It is remembered until then: long enough that it cannot be used twice, and not for ever.
        let latest = now.adding(LogoutTokenClaims.longestLife).adding(.minutes(2))
        let last = claims.signal.refusedAfter
        try hold(last >= now && last <= latest, "good until \(last)")
        let again = try signed(token.claims.octets).map {
            try LogoutTokenClaims($0, issuer: issuer, policy: lenient, at: now)
        }
        try hold(again == claims, "a logout token is not read as it was written")
        return true
    }

    private static let policy = EventPolicy(
        provider: Issuer(validated: "https://idp.example.com"), audiences: ["https://sso.example.com"],
        reach: .withoutSID)

    /// The claims of a security event token.
    static func securityEvent(_ octets: [UInt8]) throws -> Bool {
        guard let token = try signed(octets),
            let event = try? SecurityEvent(token.claims, from: policy.provider, policy, at: now)
        else { return false }
        try hold(!token.claims.contains("exp"), "a token with exp")
        try hold(token.claims.object("events")?.count == 1, "not one event")
        if case .signal(let signal) = event {
            try hold(signal.issuer == policy.provider, "another provider's subject")
            try hold(signal.effectiveAt <= now.adding(60), "an event of the future")
            let latest = now.adding(SecurityEvent.longestAge).adding(120)
            try hold(signal.refusedAfter >= now && signal.refusedAfter <= latest, "good until \(signal.refusedAfter)")
            try hold(signal.cause == .sessionRevoked || signal.subject.session == nil, "an account is no session")
        }
        let again = try signed(token.claims.octets).map {
            try SecurityEvent($0.claims, from: policy.provider, policy, at: now)
        }
        try hold(again == event, "a security event is not read as it was written")
        return true
    }

    /// The body of a global token revocation, under a good JWT.
    static func revocationRequest(_ octets: [UInt8]) throws -> Bool {
        var claims = JSONObject()
        claims["aud"] = .string(policy.audiences[0])
        claims["iat"] = .number(JSONNumber(now.seconds))
        claims["exp"] = .number(JSONNumber(now.seconds + 300))
        claims["jti"] = .string("one")
        func read(_ body: [UInt8]) throws -> ProviderSignal {
            try ProviderSignal(revocation: claims, body: body, from: policy.provider, policy, at: now)
        }
        guard let signal = try? read(octets) else { return false }
        try hold(signal.issuer == policy.provider && signal.subject.session == nil, "not one of its users")
        guard let body = (try? JSONReader.parse(octets))?.object else { throw Violation(description: "no object") }
        try hold(try read(body.octets) == signal, "a revocation is not read as it was written")
        return true
    }

    /// nil unless the payload is an object within the limits.
    private static func signed(_ payload: [UInt8]) throws -> VerifiedJWS? {
        // What cannot be claims is not worth a signature.
        guard !payload.isEmpty, (try? JSONReader.parse(payload))?.object != nil else { return nil }
        let key = try TestKey.shared(.es256)
        let text = try key.sign(header: Array(#"{"alg":"ES256"}"#.utf8), payload: payload)
        guard let token = try? CompactJWS(text) else { return nil }
        return try token.verified(by: key.publicKey)
    }
}
