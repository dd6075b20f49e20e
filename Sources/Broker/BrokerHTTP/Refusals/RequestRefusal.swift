/// Why a request is refused before any grant looks at it, or by the endpoint's own reading of its parameters.
package enum RequestRefusal: Sendable, CaseIterable {
    // HTTP
    case unknownPath
    case method
    case contentType
    case contentEncoding
    /// RFC 6749 §2.3.1: credentials must not be in the URI. So nothing is.
    case query
    case authorizationRepeated

    // Client, as far as it is a matter of form
    /// RFC 6749 §2.3: one mechanism per request.
    case severalMechanisms
    case clientIDMismatch
    case grantNotAllowed
    /// RFC 9449 §5.2.
    case proofRequired

    // Exchange
    case audienceUnknown
    case profileNotEnabled
    case hyphenatedTokenType
    case actorTokenMalformed
    /// No login of this issuer is enrolled by exchange.
    case enrolmentNotEnabled
    /// The same of a code.
    case relayNotEnabled
    case deviceIDMalformed
    case profileNotEnabledForCode
}

/// Why the caller is not taken for a client. All of them are told the same.
package enum ClientRefusal: Error, Sendable, CaseIterable {
    case missing
    case unknown
    case disabled
    /// The client is registered for another method. A stronger one is never replaced by a weaker one.
    case methodMismatch
    /// The secret is none of the client's.
    case authenticationFailed
    case malformedBasic
    case unknownScheme
    /// `client_secret` in the body: not supported.
    case postedSecret

    // A client assertion, RFC 7523 §3
    /// `client_assertion` or a `client_assertion_type` that is known is missing.
    case assertionIncomplete
    case assertionMalformed
    case assertionHeader
    case assertionWrongType
    case assertionAlgorithm
    case assertionUnknownKey
    case assertionSignature
    case assertionIssuer
    case assertionSubject
    case assertionAudience
    /// Missing, past, or too far ahead.
    case assertionExpiry
    case assertionNotBefore
    case assertionIssuedAt
    case assertionID
    /// Used before, at whichever replica.
    case assertionReplayed
}
