import StrictCoding

/// A logout token, or another JWT by which an identity provider ends sessions, as presented. It prints as `****`: it
/// names a user.
package struct LogoutToken: Sendable, Redacted {
    package let octets: [UInt8]

    package init(_ text: String) { octets = Array(text.utf8) }
}

/// Whose sessions a logout token ends. OpenID Connect Back-Channel Logout 1.0 §2.4.
package enum LogoutSubject: Sendable, Hashable {
    /// One session: `sid` is unique at its issuer.
    case session(SessionID)
    /// One session, and every session without `sid` of the user. Users whose `sub` differs per client (OpenID Connect
    /// Core §8.1) have no session without `sid` under this `sub`.
    case sessionAndWithoutSID(SessionID, of: Subject)
    /// One session, whatever its user, and every session of the user.
    case sessionAndUser(SessionID, Subject)
    /// Every session of the user.
    case user(Subject)

    package init(_ session: SessionID, of user: Subject?, reach: LogoutReach) {
        switch (user, reach) {
        case (let user?, .withoutSID): self = .sessionAndWithoutSID(session, of: user)
        case (let user?, .user): self = .sessionAndUser(session, user)
        case (nil, _), (_, .session): self = .session(session)
        }
    }

    package var session: SessionID? {
        switch self {
        case .session(let session), .sessionAndWithoutSID(let session, _), .sessionAndUser(let session, _): session
        case .user: nil
        }
    }

    package var user: Subject? {
        switch self {
        case .session: nil
        case .sessionAndWithoutSID(_, let user), .sessionAndUser(_, let user), .user(let user): user
        }
    }

    /// Whether, of the sessions of `user`, only those without `sid` end.
    package var limitsUserToSessionsWithoutSID: Bool { if case .sessionAndWithoutSID = self { true } else { false } }
}

/// The claims of a verified logout token, which satisfy the shape rules of Back-Channel Logout 1.0 §2.4 and §2.6.
package struct LogoutTokenClaims: Sendable, Hashable {
    /// What it asks for, from `iat` on.
    package let signal: ProviderSignal
    /// Every member of `aud`.
    package let audience: [ClientID]

    package init(_ signal: ProviderSignal, audience: [ClientID]) {
        self.signal = signal
        self.audience = audience
    }
}
