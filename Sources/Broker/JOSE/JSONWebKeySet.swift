public import StrictCoding

/// Why a JWKS document was refused as a whole.
public enum JSONWebKeySetError: Error, Sendable, Equatable {
    /// Over 256 KiB.
    case tooLarge
    case notJSON(JSONError)
    /// Not an object with an array `keys`: `{}`, `{"keys":null}`, a bare array.
    case noKeys
    /// Over 64 entries.
    case tooManyKeys
    /// Two different keys share one `kid` and algorithm. Their order must not decide which key is used.
    case ambiguousKeyID
    /// No entry can verify a signature.
    case noUsableKey
}

extension JSONWebKeySetError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooLarge: "it is larger than 256 KiB"
        case .notJSON(let error): error.description
        case .noKeys: "it is no object with an array named keys"
        case .tooManyKeys: "it has more than 64 entries"
        case .ambiguousKeyID: "two keys go by one kid"
        case .noUsableKey: "no entry can verify a signature"
        }
    }
}

/// The signature keys of one party, RFC 7517 §5.
public struct JSONWebKeySet: Sendable, Equatable {
    public let keys: [JSONWebKey]
    /// Why entries were ignored: encryption keys, unknown key types, weak keys (RFC 7517 §5). By the place of the entry in
    /// the document, from 0.
    public let skipped: [Int: JSONWebKeyError]

    public static let largestDocument = 256 << 10
    public static let mostKeys = 64
    // An entry may carry a certificate chain (`x5c`) and a dozen other members.
    private static let json = JSONLimits(depth: 6, members: 32 * mostKeys, elements: 16 * mostKeys)

    /// A set of these keys, without duplicates.
    public init(_ keys: [JSONWebKey]) throws(JSONWebKeySetError) { try self.init(keys, skipped: [:]) }

    public init(document: some Collection<UInt8>) throws(JSONWebKeySetError) {
        guard document.count <= Self.largestDocument else { throw .tooLarge }
        let json = try JSONReader.parse(document, limits: Self.json, failingWith: JSONWebKeySetError.notJSON)
        guard let entries = json.object?.array("keys") else { throw .noKeys }
        guard entries.count <= Self.mostKeys else { throw .tooManyKeys }
        var keys: [JSONWebKey] = []
        var skipped: [Int: JSONWebKeyError] = [:]
        for (place, entry) in entries.enumerated() {
            do throws(JSONWebKeyError) {
                guard let entry = entry.object else { throw .notObject }
                keys.append(try JSONWebKey(entry))
            } catch {
                skipped[place] = error
            }
        }
        try self.init(keys, skipped: skipped)
    }

    private init(_ keys: [JSONWebKey], skipped: [Int: JSONWebKeyError]) throws(JSONWebKeySetError) {
        var unique: [JSONWebKey] = []
        for key in keys where !unique.contains(key) {
            guard !unique.contains(where: { $0.isConfusable(with: key) }) else { throw .ambiguousKeyID }
            unique.append(key)
        }
        guard !unique.isEmpty else { throw .noUsableKey }
        self.keys = unique
        self.skipped = skipped
    }

    /// The key for a token with this header: by `kid` and algorithm; without a `kid`, the only key for the algorithm.
    ///
    /// - Throws: `.unknownKey`, `.keyDoesNotFitAlgorithm`, `.ambiguousKey`.
    public func key(for header: JOSEHeader) throws(JWSError) -> JSONWebKey {
        guard let keyID = header.keyID else {
            let fitting = keys.filter { $0.supports(header.algorithm) }
            guard let key = fitting.first else { throw .unknownKey }
            guard fitting.count == 1 else { throw .ambiguousKey }
            return key
        }
        var isKnown = false
        for key in keys where key.keyID?.hasSameOctets(as: keyID) == true {
            if key.supports(header.algorithm) { return key }
            isKnown = true
        }
        throw isKnown ? .keyDoesNotFitAlgorithm : .unknownKey
    }

    public var document: [UInt8] { Self.document(of: keys) }

    /// A document with these keys, as they are.
    package static func document(of keys: [JSONWebKey]) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("keys", array: { json in for key in keys { json.value(.object(key.json)) } })
        }
        return json.bytes
    }
}

extension JSONWebKey {
    /// Whether a token with one `kid` and algorithm could mean either of these two different keys.
    fileprivate func isConfusable(with other: JSONWebKey) -> Bool {
        guard thumbprint != other.thumbprint, let keyID, let otherID = other.keyID, keyID.hasSameOctets(as: otherID)
        else { return false }
        return SignatureAlgorithm.allCases.contains { supports($0) && other.supports($0) }
    }
}
