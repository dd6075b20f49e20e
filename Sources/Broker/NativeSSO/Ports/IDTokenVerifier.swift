import StrictCoding

/// Verifies id_tokens of the existing identity providers: implemented by `IdentityProvider`.
package protocol IDTokenVerifier: Sendable {
    /// Verifies signature and claim shape of an id_token with the known keys, without waiting.
    ///
    /// Does not check: `exp` (Native SSO §6.3 allows an expired one), the token's age, `aud`, the device hash, or
    /// whether the session is live.
    /// - Parameter issuer: The issuer that the request's `audience` selected. No other issuer's key is tried, and the
    ///   token's contents select nothing.
    func verify(
        _ idToken: SubjectToken, from issuer: Issuer, for use: IDTokenUse, at now: UnixTime
    ) throws(IDTokenVerificationError) -> IDTokenVerification
}

/// The result of verifying an id_token with the known keys.
package enum IDTokenVerification: Sendable {
    case verified(IDTokenClaims)
    /// No known key made the signature. The issuer may have published a new key: `fetching` asks for it.
    case keyUnknown(fetching: @Sendable () async throws(IDTokenVerificationError) -> IDTokenClaims)

    /// Waits only if the key is unknown.
    package var claims: IDTokenClaims {
        get async throws(IDTokenVerificationError) {
            switch self {
            case .verified(let claims): claims
            case .keyUnknown(let fetching): try await fetching()
            }
        }
    }
}

/// The purpose of a presented id_token.
package enum IDTokenUse: Sendable {
    /// A subject token: it may be old, its key may have left the issuer's key set, and it names a session.
    case exchange
    /// A login that has just happened: its key is in the issuer's key set now.
    case enrolment
}

/// An id_token as presented. A credential: it prints as `****`.
package struct SubjectToken: Sendable, Redacted {
    /// The token as presented, in UTF-8.
    package let octets: [UInt8]

    package init(_ text: String) { octets = Array(text.utf8) }
}

/// Why an id_token was not verified.
package enum IDTokenVerificationError: Error, Sendable {
    case refused(SubjectTokenDefect)
    case outage(Outage)
}

/// A defect of a subject token in form, signature or claim shape.
package enum SubjectTokenDefect: Error, Sendable, CaseIterable {
    case malformed
    case headerRefused
    case wrongType
    case algorithmNotAllowed
    case unknownKey
    case keyRetired
    case keyRevoked
    case badSignature
    case issuerMismatch
    case subject
    /// `sub` of the identity provider without prefix begins with the prefix of another one.
    case subjectReserved
    case audience
    case authorizedParty
    case sessionID
    case deviceHash
    case issuedAt
    case expiry
    case notBefore
    case authenticationTime
    case login
    case logoutToken
    case accessToken
    case actorClaim
    case mayAct
    /// An id_token of this broker that is not from an enrolment, or whose identity provider is no longer configured.
    case notEnrolled
}

/// Verifies logout tokens of the existing identity providers: implemented by `IdentityProvider`.
package protocol LogoutTokenVerifier: Sendable {
    /// Verifies signature, claim shape and age. The token's `iss` selects one of the configured IdPs and its keys. The
    /// broker fetches only configured URLs.
    ///
    /// Does not check: the members of `aud`, or whether the token was used before.
    func verify(_ token: LogoutToken, at now: UnixTime) async throws(LogoutError) -> LogoutTokenClaims
}
