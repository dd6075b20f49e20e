/// The existing identity provider, as far as an id_token needs it: implemented by `IdentityProvider`.
public protocol IDTokenVerifier: Sendable {
    /// Verifies signature and claim shape of an id_token.
    ///
    /// Does not check: `exp` (Native SSO §6.3 allows an expired one), the token's age, for whom it was issued, the device
    /// hash, or whether the session is live.
    /// - Parameter issuer: The issuer that the request's `audience` selected. No other issuer's key is tried, and the
    ///   token's contents select nothing.
    func verify(
        _ idToken: SubjectToken, from issuer: Issuer, for use: IDTokenUse, at now: UnixTime
    ) async throws(IDTokenVerificationError) -> IDTokenClaims
}

/// What an id_token is shown for.
public enum IDTokenUse: Sendable {
    /// A subject token: it may be old, its key may have left the issuer's key set, and it names a session.
    case exchange
    /// A login that has just happened: its key is in the issuer's key set now.
    case enrolment
}

/// An id_token as presented. A credential: it prints as `****`.
public struct SubjectToken: Sendable, CustomStringConvertible, CustomReflectable {
    public let octets: [UInt8]

    public init(_ text: String) { octets = Array(text.utf8) }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

public enum IDTokenVerificationError: Error, Sendable {
    case refused(SubjectTokenDefect)
    case outage(Outage)
}

/// What is wrong with a subject token in form, signature or claim shape. The raw value is what the audit shows.
public enum SubjectTokenDefect: String, Error, Sendable, CaseIterable {
    case malformed = "subject_token_malformed"
    case headerRefused = "subject_token_header_refused"
    case wrongType = "subject_token_wrong_typ"
    case algorithmNotAllowed = "subject_token_alg_not_allowed"
    case unknownKey = "subject_token_unknown_key"
    case keyRetired = "subject_token_key_retired"
    case keyRevoked = "subject_token_key_revoked"
    case badSignature = "subject_token_bad_signature"
    case issuerMismatch = "subject_token_iss"
    case subject = "subject_token_sub"
    case audience = "subject_token_aud"
    case authorizedParty = "subject_token_azp"
    case sessionID = "subject_token_sid"
    case deviceHash = "subject_token_device_hash"
    case issuedAt = "subject_token_iat"
    case expiry = "subject_token_exp"
    case notBefore = "subject_token_nbf"
    case authenticationTime = "subject_token_auth_time"
    case login = "subject_token_acr_amr"
    case logoutToken = "subject_token_is_logout_token"
    case accessToken = "subject_token_is_access_token"
    case actorClaim = "subject_token_act"
    case mayAct = "subject_token_may_act"
    /// An id_token of this broker that no enrolment gave, or of an identity provider that is not configured any more.
    case notEnrolled = "subject_token_not_enrolled"
}
