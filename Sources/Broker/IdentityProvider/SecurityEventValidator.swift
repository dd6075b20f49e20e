import JOSE
package import NativeSSO
import StrictCoding

/// What the operator configured for one signer of security events or revocation JWTs.
package struct EventPolicy: Sendable {
    /// The identity provider whose users and sessions it may name.
    package let provider: Issuer
    /// Accepted `aud` values.
    package let audiences: [String]
    /// What an event with both session and user ends.
    package let reach: LogoutReach

    package init(provider: Issuer, audiences: [String], reach: LogoutReach) {
        self.provider = provider
        self.audiences = audiences
        self.reach = reach
    }
}

/// Verifies security event tokens (RFC 8417) and global token revocations
/// (draft-parecki-oauth-global-token-revocation).
package struct SecurityEventValidator: SecurityEventVerifier {
    private let events: SignedTokens<EventPolicy>
    private let revocations: SignedTokens<EventPolicy>

    /// - Parameters:
    ///   - events: The transmitters of security events.
    ///   - revocations: The signers of revocation JWTs.
    package init(events: [TrustedSigner<EventPolicy>], revocations: [TrustedSigner<EventPolicy>]) {
        self.events = SignedTokens(events)
        self.revocations = SignedTokens(revocations)
    }

    package func verify(event token: LogoutToken, at now: UnixTime) async throws(EventError) -> SecurityEvent {
        try await events.verify(
            token, type: { header, _ in header.hasType("secevent+jwt") }
        ) { (verified, signer) throws(EventRefusal) in
            try SecurityEvent(verified.claims, from: signer.issuer, signer.policy, at: now)
        }
    }

    package func verify(
        revocation token: LogoutToken, body: [UInt8], at now: UnixTime
    ) async throws(EventError) -> ProviderSignal {
        try await revocations.verify(
            token, type: { header, _ in header.hasType("global-token-revocation+jwt") }
        ) { (verified, signer) throws(EventRefusal) in
            try ProviderSignal(revocation: verified.claims, body: body, from: signer.issuer, signer.policy, at: now)
        }
    }
}

extension EventRefusal: SignedTokenRefusal {}

// MARK: Security event tokens

extension SecurityEvent {
    /// A transmitter repeats a token until it is acknowledged. One that comes later was lost in a longer outage.
    static let longestAge: Seconds = .hours(24)

    private static let causes: [(type: String, cause: LogoutCause)] = [
        ("https://schemas.openid.net/secevent/caep/event-type/session-revoked", .sessionRevoked),
        ("https://schemas.openid.net/secevent/risc/event-type/account-disabled", .accountDisabled),
        ("https://schemas.openid.net/secevent/risc/event-type/account-enabled", .accountEnabled),
    ]

    /// RFC 8417 §2.2; OpenID Shared Signals Framework 1.0 §4: one event, `sub_id` outside of it, no `exp`.
    init(_ claims: JSONObject, from signer: Issuer, _ policy: EventPolicy, at now: UnixTime) throws(EventRefusal) {
        guard let audience = claims.oneOrMoreStrings("aud"),
            audience.contains(where: { own in policy.audiences.contains { $0.hasSameOctets(as: own) } })
        else { throw .audience }
        guard !claims.contains("exp") else { throw .expiry }
        guard let issuedAt = claims.issuedAt(within: Self.longestAge, before: now) else { throw .issuedAt }
        guard let tokenID = claims.tokenID else { throw .tokenID }
        guard let events = claims.object("events"), events.count == 1, let member = events.members.first,
            let event = member.value.object
        else { throw .events }
        guard let cause = Self.causes.first(where: { $0.type.hasSameOctets(as: member.name) })?.cause else {
            self = .nothing(signer: signer)
            return
        }
        var effectiveAt = issuedAt
        if event.contains("event_timestamp") {
            guard let timestamp = event.time("event_timestamp"), timestamp <= now.adding(skew) else { throw .eventTime }
            effectiveAt = timestamp
        }
        guard let identifier = claims.object("sub_id") else { throw .subjectMissing }
        let names = SubjectIdentifier(members: identifier, signer: signer, policy: policy)
        self = .signal(
            ProviderSignal(
                cause: cause, issuer: policy.provider,
                subject: cause == .sessionRevoked ? try names.sessionOrUser() : .user(try names.user()),
                effectiveAt: effectiveAt, signer: signer, tokenID: tokenID,
                refusedAfter: issuedAt.adding(Self.longestAge).adding(skew)))
    }
}

// MARK: Global token revocation

extension ProviderSignal {
    /// From `iat` to `exp` of the JWT.
    static let longestLife: Seconds = .minutes(10)

    /// - Parameter body: An object whose member `sub_id` (drafts before 03: `subject`) names the user.
    init(
        revocation claims: JSONObject, body: [UInt8], from signer: Issuer, _ policy: EventPolicy, at now: UnixTime
    ) throws(EventRefusal) {
        guard let audience = claims.oneOrMoreStrings("aud"), audience.count == 1,
            policy.audiences.contains(where: { $0.hasSameOctets(as: audience[0]) })
        else { throw .audience }
        guard let issuedAt = claims.issuedAt(within: Self.longestLife, before: now) else { throw .issuedAt }
        guard let expiresAt = claims.expiresAt(within: Self.longestLife, after: issuedAt, at: now) else {
            throw .expiry
        }
        guard claims.hasBegun(at: now) else { throw .notBefore }
        guard let tokenID = claims.tokenID else { throw .tokenID }
        guard let request = (try? JSONReader.parse(body))?.object else { throw .bodyMalformed }
        let names = ["sub_id", "subject"].filter(request.contains)
        guard names.count == 1, let identifier = request.object(names[0]) else { throw .subjectMissing }
        self.init(
            cause: .globalTokenRevocation, issuer: policy.provider,
            subject: .user(try SubjectIdentifier(members: identifier, signer: signer, policy: policy).user()),
            effectiveAt: issuedAt, signer: signer, tokenID: tokenID, refusedAfter: expiresAt.adding(skew))
    }
}

// MARK: Subjects

/// A subject identifier. RFC 9493, OpenID Shared Signals Framework 1.0 §3.
private struct SubjectIdentifier {
    let members: JSONObject
    let signer: Issuer
    let policy: EventPolicy

    private func hasFormat(_ format: String) -> Bool { members.string("format")?.hasSameOctets(as: format) == true }

    /// RFC 9493 §3.2.3. `iss` is the identity provider, or the signer, which speaks for it.
    func user() throws(EventRefusal) -> Subject {
        guard hasFormat("iss_sub") else { throw members.string("format") == nil ? .subjectMissing : .subjectFormat }
        guard let issuer = members.string("iss"), let subject = members.string("sub").flatMap(Subject.init) else {
            throw .subjectMissing
        }
        guard issuer.hasSameOctets(as: policy.provider.string) || issuer.hasSameOctets(as: signer.string)
        else { throw .subjectForeign }
        return subject
    }

    /// A user, a session by its opaque `sid`, or both in a complex subject. A complex subject that also names a device
    /// or a tenant means less than the user: it is refused.
    func sessionOrUser() throws(EventRefusal) -> LogoutSubject {
        if hasFormat("opaque") { return .session(try session()) }
        guard hasFormat("complex") else { return .user(try user()) }
        guard
            members.names.allSatisfy({ name in ["format", "user", "session"].contains { $0.hasSameOctets(as: name) } })
        else { throw .subjectFormat }
        let user = try part("user").map { (part) throws(EventRefusal) in try part.user() }
        let session = try part("session").map { (part) throws(EventRefusal) in try part.session() }
        switch (session, user) {
        case (let session?, let user): return LogoutSubject(session, of: user, reach: policy.reach)
        case (nil, let user?): return .user(user)
        case (nil, nil): throw .subjectMissing
        }
    }

    private func part(_ name: String) throws(EventRefusal) -> SubjectIdentifier? {
        guard members.contains(name) else { return nil }
        guard let part = members.object(name) else { throw .subjectMissing }
        return SubjectIdentifier(members: part, signer: signer, policy: policy)
    }

    private func session() throws(EventRefusal) -> SessionID {
        guard hasFormat("opaque") else { throw .subjectFormat }
        guard let session = members.string("id").flatMap(SessionID.init) else { throw .subjectMissing }
        return session
    }
}
