public import StrictCoding

/// A signed token in compact form, RFC 7515 §7.1: taken apart, nothing of it verified.
///
/// Its claims cannot be read. ``verified(by:)`` is the way to them, so that claims always come from octets whose signature
/// was checked.
public struct CompactJWS: Sendable {
    /// How large a token may be.
    public struct Limits: Sendable {
        /// Octets of the whole token.
        public var token: Int
        /// Octets of the decoded header.
        public var header: Int
        /// Octets of the decoded payload.
        public var payload: Int
        /// For header and payload, each on its own.
        public var json: JSONLimits

        public init(token: Int = 16 << 10, header: Int = 2 << 10, payload: Int = 12 << 10, json: JSONLimits = .default)
        {
            self.token = token
            self.header = header
            self.payload = payload
            self.json = json
        }

        /// 16 KiB in all, 2 KiB of header, 12 KiB of payload.
        public static let `default` = Limits()
    }

    public let header: JOSEHeader
    public let signature: [UInt8]
    let payload: [UInt8]
    let limits: Limits
    private let token: [UInt8]
    private let signedCount: Int

    /// What the signature covers: header and payload as they were sent, with the dot between them.
    public var signingInput: ArraySlice<UInt8> { token[..<signedCount] }

    /// `sub` as it was sent, with no signature verified: says whose keys to look for, as ``JOSEHeader/keyID`` says which, and
    /// must be used for nothing else.
    package var unverifiedSubject: String? { unverified("sub") }

    /// `iss` as it was sent; see ``unverifiedSubject``.
    package var unverifiedIssuer: String? { unverified("iss") }

    private func unverified(_ name: String) -> String? {
        (try? JSONReader.parse(payload, limits: limits.json))?.object?.string(name)
    }

    /// Takes `token` apart. Length and dots are looked at before anything is decoded: a megabyte of dots costs nothing.
    public init(_ token: some Collection<UInt8>, limits: Limits = .default) throws(JWSError) {
        guard token.count <= limits.token else { throw .tooLong }
        let token = Array(token)
        let (first, second) = try Self.dots(of: token)
        guard first > 0, second > first + 1, second < token.count - 1 else { throw .emptySegment }

        let header = try Self.decode(token[..<first], atMost: limits.header)
        self.header = try JOSEHeader(header, limits: limits.json)
        payload = try Self.decode(token[(first + 1)..<second], atMost: limits.payload)
        signature = try Self.decode(token[(second + 1)...], atMost: Self.longestSignature)
        self.token = token
        self.limits = limits
        signedCount = second
    }

    /// Takes `token` apart; see ``init(_:limits:)-(Collection<UInt8>,_)``.
    public init(_ token: String, limits: Limits = .default) throws(JWSError) {
        try self.init(token.utf8, limits: limits)
    }

    /// That of an RSA key of ``JSONWebKey/largestModulus`` bits, the longest there is.
    private static let longestSignature = JSONWebKey.largestModulus / 8

    /// The positions of the only two dots.
    private static func dots(of token: [UInt8]) throws(JWSError) -> (Int, Int) {
        var dots: [Int] = []
        for (index, byte) in token.enumerated() where byte == UInt8(ascii: ".") {
            dots.append(index)
            if dots.count > 4 { throw .notCompact }
        }
        guard dots.count != 4 else { throw .encrypted }
        guard dots.count == 2 else { throw .notCompact }
        return (dots[0], dots[1])
    }

    private static func decode(_ segment: ArraySlice<UInt8>, atMost count: Int) throws(JWSError) -> [UInt8] {
        guard segment.count / 4 * 3 <= count else { throw .tooLong }
        guard let bytes = Base64URL.decode(segment) else { throw .notBase64URL }
        guard bytes.count <= count else { throw .tooLong }
        return bytes
    }
}
