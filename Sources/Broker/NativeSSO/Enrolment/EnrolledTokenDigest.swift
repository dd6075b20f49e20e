import Crypto

/// Names an id_token by what was signed: SHA-256 of header and payload as they travelled.
///
/// Not of the whole token: whoever holds an ECDSA signature can write another that is as good, and the token would pass for
/// a second one.
public struct EnrolledTokenDigest: Hashable, Sendable {
    /// 32 octets.
    public let octets: [UInt8]

    public init(of token: SubjectToken) {
        let end = token.octets.lastIndex(of: UInt8(ascii: ".")) ?? token.octets.endIndex
        octets = Array(SHA256.hash(data: token.octets[..<end]))
    }
}
