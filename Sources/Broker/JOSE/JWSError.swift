public import StrictCoding

/// Why a token was refused before its claims were looked at. Every case is a fact for the audit log and holds no secret.
public enum JWSError: Error, Sendable, Equatable {
    // The compact form, RFC 7515 §7.1.
    /// Token, header or payload is longer than the caller allows.
    case tooLong
    /// Not three segments.
    case notCompact
    /// Five segments: an encrypted token (JWE). Never decrypted, never inflated.
    case encrypted
    /// `h.p.`, `h..s` or `.p.s`.
    case emptySegment
    /// A segment is not canonical base64url.
    case notBase64URL
    /// The header is no acceptable JSON.
    case headerNotJSON(JSONError)
    /// The payload is no acceptable JSON.
    case payloadNotJSON(JSONError)
    /// The header is JSON, but no object.
    case headerNotObject
    /// The payload is JSON, but no object.
    case payloadNotObject

    // The header, RFC 7515 §4.
    /// `alg`, `kid` or `typ` is missing where it is required, of the wrong type, empty or too long.
    case malformedHeader
    /// `crit` is present: we understand no extension (RFC 7515 §4.1.11).
    case criticalHeader
    /// `b64` is present (RFC 7797).
    case unencodedPayload
    /// `zip` is present (RFC 8725 §3.6).
    case compressed
    /// `alg` names nothing that we verify: `none`, an HMAC, a spelling of our own names.
    case unsupportedAlgorithm
    /// `typ` names another kind of token (RFC 8725 §3.11).
    case wrongType

    // The key and the signature.
    /// `alg` is one of ours, but not one that this issuer may use.
    case algorithmNotAllowed
    /// No key of the issuer has this `kid`; or there is no `kid`, and no key fits.
    case unknownKey
    /// No `kid`, and several keys fit.
    case ambiguousKey
    /// The key with this `kid` is not for this `alg`.
    case keyDoesNotFitAlgorithm
    case badSignature
}
