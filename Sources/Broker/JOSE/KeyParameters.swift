import StrictCoding

extension JSONWebKey {
    /// The numeric parameters of a public key, big-endian.
    public enum Parameters: Sendable, Equatable {
        /// Without leading zeros.
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// Coordinates padded to the field length.
        case ec(Curve, x: [UInt8], y: [UInt8])
        case ed25519([UInt8])
    }

    /// The curves of RFC 7518 §6.2.1.1.
    public enum Curve: String, Sendable, CaseIterable {
        case p256 = "P-256"
        case p384 = "P-384"
        case p521 = "P-521"

        /// Octets per coordinate.
        public var coordinateCount: Int {
            switch self {
            case .p256: 32
            case .p384: 48
            case .p521: 66
            }
        }

        /// The only algorithm for this curve, RFC 7518 §3.4.
        public var algorithm: SignatureAlgorithm {
            switch self {
            case .p256: .es256
            case .p384: .es384
            case .p521: .es512
            }
        }
    }
}

extension JSONWebKey.Parameters {
    init(_ json: JSONObject) throws(JSONWebKeyError) {
        guard let type = json.string("kty") else { throw .malformedMember }
        if type.hasSameOctets(as: "RSA") {
            self = .rsa(modulus: try Self.octets("n", of: json), exponent: try Self.octets("e", of: json))
        } else if type.hasSameOctets(as: "EC") {
            guard let name = json.string("crv") else { throw .malformedMember }
            guard let curve = JSONWebKey.Curve.allCases.first(where: { $0.rawValue.hasSameOctets(as: name) }) else {
                throw .unsupportedKeyType
            }
            self = .ec(curve, x: try Self.octets("x", of: json), y: try Self.octets("y", of: json))
        } else if type.hasSameOctets(as: "OKP") {
            guard let name = json.string("crv") else { throw .malformedMember }
            guard name.hasSameOctets(as: "Ed25519") else { throw .unsupportedKeyType }
            self = .ed25519(try Self.octets("x", of: json))
        } else {
            throw .unsupportedKeyType
        }
    }

    /// The required members in lexicographic order, RFC 7638 §3.2.
    var json: JSONObject {
        var json = JSONObject()
        switch self {
        case .rsa(let modulus, let exponent):
            json["e"] = .string(Base64URL.encode(exponent))
            json["kty"] = .string("RSA")
            json["n"] = .string(Base64URL.encode(modulus))
        case .ec(let curve, let x, let y):
            json["crv"] = .string(curve.rawValue)
            json["kty"] = .string("EC")
            json["x"] = .string(Base64URL.encode(x))
            json["y"] = .string(Base64URL.encode(y))
        case .ed25519(let x):
            json["crv"] = .string("Ed25519")
            json["kty"] = .string("OKP")
            json["x"] = .string(Base64URL.encode(x))
        }
        return json
    }

    func supports(_ algorithm: SignatureAlgorithm) -> Bool {
        switch (self, algorithm) {
        case (.rsa, .rs256), (.rsa, .rs384), (.rsa, .rs512), (.rsa, .ps256), (.rsa, .ps384), (.rsa, .ps512): true
        case (.ec(let curve, _, _), _): curve.algorithm == algorithm
        case (.ed25519, .edDSA), (.ed25519, .ed25519): true
        default: false
        }
    }

    private static func octets(_ name: String, of json: JSONObject) throws(JSONWebKeyError) -> [UInt8] {
        guard let text = json.string(name), let octets = Base64URL.decode(text), !octets.isEmpty else {
            throw .malformedMember
        }
        return octets
    }
}
