import NativeSSO
import StrictCoding

/// The active signing key with the headers of its tokens, which never change.
struct TokenSigning: Sendable {
    let kid: String
    private let key: any SigningKey
    private let accessTokenHeader: [UInt8]
    private let idTokenHeader: [UInt8]

    init(_ key: any SigningKey, kid: String) {
        self.kid = kid
        self.key = key
        accessTokenHeader = Self.header(key.algorithm, .accessToken, kid)
        idTokenHeader = Self.header(key.algorithm, .idToken, kid)
    }

    /// RS256 and ES256 alike. OpenID Connect Core §3.1.3.6.
    var hashFunction: TokenHashFunction { .sha256 }

    /// The compact JWS of `payload`. RFC 7515 §7.1.
    func sign(_ payload: [UInt8], type: JWTType) async throws(KeyError) -> String {
        let header =
            switch type {
            case .accessToken: accessTokenHeader
            case .idToken: idTokenHeader
            }
        var token: [UInt8] = []
        token.reserveCapacity(header.count + payload.count * 4 / 3 + Self.room)
        token.append(contentsOf: header)
        Base64URL.append(payload, to: &token)
        let signature = try await key.signature(over: token)
        token.append(UInt8(ascii: "."))
        Base64URL.append(signature, to: &token)
        return String(decoding: token, as: UTF8.self)
    }

    /// For the signature of an RSA key of 3072 bits and the dots.
    private static let room = 520

    /// base64url of the JOSE header, with the dot that ends it.
    private static func header(_ algorithm: KeyAlgorithm, _ type: JWTType, _ kid: String) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("alg", algorithm.rawValue)
            json.member("typ", type.rawValue)
            json.member("kid", kid)
        }
        var header: [UInt8] = []
        Base64URL.append(json.bytes, to: &header)
        header.append(UInt8(ascii: "."))
        return header
    }
}
