import Crypto
public import StrictCoding

/// A public signature key (RFC 7517): validated once, ready to verify. This type cannot hold private or symmetric keys.
public struct JSONWebKey: Sendable {
    /// `kid`.
    public let keyID: String?
    /// `alg`: the only algorithm that the key may serve (RFC 8725 §3.1); nil if the JWK has no `alg`.
    public let algorithm: SignatureAlgorithm?
    /// SHA-256 thumbprint (RFC 7638): identifies the key regardless of its `kid`.
    public let thumbprint: [UInt8]
    public let parameters: Parameters
    let verifier: SignatureVerifier

    static let smallestModulus = 2048
    static let largestModulus = 8192

    /// A key from its numeric parameters.
    ///
    /// - Throws: `.weakKey`, `.malformedMember`, `.invalidPoint`, `.algorithmDoesNotFitKey`.
    public init(
        _ parameters: Parameters, keyID: String? = nil, algorithm: SignatureAlgorithm? = nil
    ) throws(JSONWebKeyError) {
        if let algorithm, !parameters.supports(algorithm) { throw .algorithmDoesNotFitKey }
        verifier = try SignatureVerifier(parameters)
        thumbprint = Array(SHA256.hash(data: parameters.json.octets))
        self.parameters = parameters
        self.keyID = keyID
        self.algorithm = algorithm
    }

    /// A key from its JSON form, RFC 7517 §4 and RFC 7518 §6.
    ///
    /// - Parameter allowingPrivateMembers: Reads the public part of a private key instead of refusing it. Only for
    ///   keys that never left their owner: a published private key must not be trusted again.
    public init(_ json: JSONObject, allowingPrivateMembers: Bool = false) throws(JSONWebKeyError) {
        if !allowingPrivateMembers, Self.privateMembers.contains(where: json.contains) { throw .privateKey }
        try Self.checkUse(of: json)
        try self.init(
            try Parameters(json), keyID: try json.shortText("kid", orThrow: JSONWebKeyError.malformedMember),
            algorithm: try Self.algorithm(of: json))
    }

    /// Whether this key can verify signatures under `algorithm`.
    public func supports(_ algorithm: SignatureAlgorithm) -> Bool {
        if let own = self.algorithm { own.isSame(as: algorithm) } else { parameters.supports(algorithm) }
    }

    /// Whether this key made `signature` over `signingInput`. False also if the key does not support `algorithm`.
    public func verifies(
        _ signature: [UInt8], of signingInput: some Collection<UInt8>, algorithm: SignatureAlgorithm
    ) -> Bool {
        supports(algorithm) && verifier.verifies(signature, of: Array(signingInput)[...], algorithm: algorithm)
    }

    /// The public JWK, with `use`, and with `kid` and `alg` if they are known.
    public var json: JSONObject {
        var json = parameters.json
        json["use"] = .string("sig")
        json["alg"] = algorithm.map { .string($0.rawValue) }
        json["kid"] = keyID.map { .string($0) }
        return json
    }

    private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    private static func checkUse(of json: JSONObject) throws(JSONWebKeyError) {
        if let use = json["use"] {
            guard let use = use.string else { throw .malformedMember }
            guard use.hasSameOctets(as: "sig") else { throw .notForVerification }
        }
        if let operations = json["key_ops"] {
            guard let operations = operations.strings else { throw .malformedMember }
            guard operations.contains(where: { $0.hasSameOctets(as: "verify") }) else { throw .notForVerification }
        }
    }

    private static func algorithm(of json: JSONObject) throws(JSONWebKeyError) -> SignatureAlgorithm? {
        guard let name = try json.shortText("alg", orThrow: JSONWebKeyError.malformedMember) else { return nil }
        guard let algorithm = SignatureAlgorithm(name: name) else { throw .unsupportedAlgorithm }
        return algorithm
    }
}

extension JSONWebKey: Equatable, Hashable {
    public static func == (a: JSONWebKey, b: JSONWebKey) -> Bool {
        a.thumbprint == b.thumbprint && a.algorithm == b.algorithm && a.keyIDOctets == b.keyIDOctets
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(thumbprint) }

    private var keyIDOctets: [UInt8]? { keyID.map { Array($0.utf8) } }
}

/// Why a JSON Web Key cannot be used to verify signatures.
public enum JSONWebKeyError: Error, Sendable, Equatable {
    case notObject
    /// `kty` or `crv` is not supported; this includes symmetric keys (`oct`).
    case unsupportedKeyType
    /// `alg` is not supported, for example an encryption algorithm.
    case unsupportedAlgorithm
    /// `alg` requires another key type or curve.
    case algorithmDoesNotFitKey
    /// `use` or `key_ops` allow only another purpose (RFC 7517 §4.2, §4.3).
    case notForVerification
    /// A private member (`d`, `p`, …) is present: the key is no longer secret.
    case privateKey
    /// A member is missing, of the wrong type, not canonical base64url, or of the wrong length.
    case malformedMember
    /// RSA only. The modulus has under 2048 or over 8192 bits, is even, or comes from a broken generator (ROCA). Or the
    /// exponent is under 65537, over 32 bits, or even.
    case weakKey
    /// The point is not on the curve.
    case invalidPoint
}

extension JSONWebKeyError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notObject: "no JSON object"
        case .unsupportedKeyType: "kty or crv is unknown"
        case .unsupportedAlgorithm: "alg is unknown"
        case .algorithmDoesNotFitKey: "alg is for another kind of key"
        case .notForVerification: "use or key_ops say that it is for something else"
        case .privateKey: "it has private members"
        case .malformedMember: "a member is missing or malformed"
        case .weakKey: "it is weak"
        case .invalidPoint: "it is no point of its curve"
        }
    }
}

/// Detects RSA keys of a smart-card generator whose moduli can be factored (ROCA, CVE-2017-15361).
enum ROCAFingerprint {
    /// A ROCA modulus is a power of 65537 modulo every small prime. About one in 2^27 other moduli matches by chance.
    static func matches(modulus: [UInt8]) -> Bool {
        primes.allSatisfy { prime in
            let residue = modulus.reduce(0 as UInt32) { ($0 << 8 | UInt32($1)) % prime }
            return isPowerOfGenerator(residue, modulo: prime)
        }
    }

    private static let primes: [UInt32] = [
        3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
        113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
    ]

    private static func isPowerOfGenerator(_ residue: UInt32, modulo prime: UInt32) -> Bool {
        let generator = 65537 % prime
        var power: UInt32 = 1
        repeat {
            if power == residue { return true }
            power = power * generator % prime
        } while power != 1
        return false
    }
}
