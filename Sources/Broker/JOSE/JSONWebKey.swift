import Crypto
public import StrictCoding

/// A public key for signatures, RFC 7517: checked once, ready to verify. Private and symmetric keys have no form here.
public struct JSONWebKey: Sendable {
    /// `kid`.
    public let keyID: String?
    /// `alg`: the only algorithm that the key may serve (RFC 8725 §3.1); nil if the key does not say.
    public let algorithm: SignatureAlgorithm?
    /// SHA-256 thumbprint, RFC 7638: names the key whatever `kid` it goes by.
    public let thumbprint: [UInt8]
    public let parameters: Parameters
    let verifier: any SignatureVerifier

    static let smallestModulus = 2048
    static let largestModulus = 8192

    /// A key from its numbers.
    ///
    /// - Throws: `.weakKey`, `.malformedMember`, `.invalidPoint`, `.algorithmDoesNotFitKey`.
    public init(
        _ parameters: Parameters, keyID: String? = nil, algorithm: SignatureAlgorithm? = nil
    ) throws(JSONWebKeyError) {
        if let algorithm, !parameters.supports(algorithm) { throw .algorithmDoesNotFitKey }
        verifier = try parameters.verifier()
        thumbprint = Array(SHA256.hash(data: parameters.thumbprintInput))
        self.parameters = parameters
        self.keyID = keyID
        self.algorithm = algorithm
    }

    /// A key from its JSON form, RFC 7517 §4 and RFC 7518 §6.
    ///
    /// - Parameter allowingPrivateMembers: Reads the public part of a private key instead of refusing it. For keys that never
    ///   left their owner; a published key with private members must not be trusted again.
    public init(_ json: JSONObject, allowingPrivateMembers: Bool = false) throws(JSONWebKeyError) {
        if !allowingPrivateMembers, Self.privateMembers.contains(where: json.contains) { throw .privateKey }
        try Self.checkUse(of: json)
        try self.init(
            try Parameters(json), keyID: try Self.optionalText("kid", of: json), algorithm: try Self.algorithm(of: json)
        )
    }

    /// Whether a signature under `algorithm` may be checked with this key.
    public func supports(_ algorithm: SignatureAlgorithm) -> Bool {
        if let own = self.algorithm { own.isSame(as: algorithm) } else { parameters.supports(algorithm) }
    }

    /// Whether `signature` is that of this key over `signingInput`. False, too, where the key does not support `algorithm`.
    public func verifies(
        _ signature: [UInt8], of signingInput: some Collection<UInt8>, algorithm: SignatureAlgorithm
    ) -> Bool {
        supports(algorithm) && verifier.verifies(signature, of: Array(signingInput), algorithm: algorithm)
    }

    /// The public JSON form, with `use` and what is known of `kid` and `alg`.
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
        guard let name = try optionalText("alg", of: json) else { return nil }
        guard let algorithm = SignatureAlgorithm(name: name) else { throw .unsupportedAlgorithm }
        return algorithm
    }

    private static func optionalText(_ name: String, of json: JSONObject) throws(JSONWebKeyError) -> String? {
        guard let value = json[name] else { return nil }
        guard let text = value.string, !text.isEmpty, text.utf8.count <= JOSEHeader.longestKeyID else {
            throw .malformedMember
        }
        return text
    }
}

extension JSONWebKey: Equatable, Hashable {
    public static func == (a: JSONWebKey, b: JSONWebKey) -> Bool {
        a.thumbprint == b.thumbprint && a.algorithm == b.algorithm && a.keyIDOctets == b.keyIDOctets
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(thumbprint)
    }

    private var keyIDOctets: [UInt8]? { keyID.map { Array($0.utf8) } }
}
