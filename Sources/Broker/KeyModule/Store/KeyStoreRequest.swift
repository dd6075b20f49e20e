import NativeSSO
import StrictCoding

/// What a command asks of the key store, which runs as the broker's user: one JSON object.
enum KeyStoreRequest: Sendable {
    case makeSigningKey(KeyAlgorithm, modulusBits: Int)
    case makeRefreshTokenKey(id: UInt8)
    case makeDeviceKey
    /// Loads the private key of the record.
    case load(KeyRecord)
    case loadPublicKey(KeyRecord)
    case protection(KeyRecord)
    case destroy(KeyRecord)

    private enum Operation: String {
        case makeSigningKey, makeRefreshTokenKey, makeDeviceKey, load, loadPublicKey, protection, destroy
    }

    var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            switch self {
            case .makeSigningKey(let algorithm, let bits):
                json.member("operation", Operation.makeSigningKey.rawValue)
                json.member("algorithm", algorithm.rawValue)
                json.member("bits", String(bits))
            case .makeRefreshTokenKey(let id):
                json.member("operation", Operation.makeRefreshTokenKey.rawValue)
                json.member("id", String(id))
            case .makeDeviceKey: json.member("operation", Operation.makeDeviceKey.rawValue)
            case .load(let record): Self.write(.load, record, to: &json)
            case .loadPublicKey(let record): Self.write(.loadPublicKey, record, to: &json)
            case .protection(let record): Self.write(.protection, record, to: &json)
            case .destroy(let record): Self.write(.destroy, record, to: &json)
            }
        }
        return json.bytes
    }

    /// `nil` if the octets are no request.
    init?(json octets: [UInt8]) {
        guard let json = try? JSONReader.parse(octets).object,
            let operation = json.string("operation").flatMap({ Operation(rawValue: $0) })
        else { return nil }
        switch operation {
        case .makeSigningKey:
            guard let algorithm = json.string("algorithm").flatMap({ KeyAlgorithm(rawValue: $0) }),
                let bits = json.string("bits").flatMap({ Int($0) })
            else { return nil }
            self = .makeSigningKey(algorithm, modulusBits: bits)
        case .makeRefreshTokenKey:
            guard let id = json.string("id").flatMap({ UInt8($0) }) else { return nil }
            self = .makeRefreshTokenKey(id: id)
        case .makeDeviceKey: self = .makeDeviceKey
        case .load, .loadPublicKey, .protection, .destroy:
            guard let record = Self.record(in: json) else { return nil }
            switch operation {
            case .load: self = .load(record)
            case .loadPublicKey: self = .loadPublicKey(record)
            case .protection: self = .protection(record)
            default: self = .destroy(record)
            }
        }
    }

    private static func write(_ operation: Operation, _ record: KeyRecord, to json: inout JSONWriter) {
        json.member("operation", operation.rawValue)
        json.member("kid", record.kid)
        json.member("use", record.use.rawValue)
        json.member("algorithm", record.algorithm.rawValue)
        json.member("reference", record.reference)
        if let replica = record.replica { json.member("replica", replica) }
    }

    /// The state of the result means nothing.
    private static func record(in json: JSONObject) -> KeyRecord? {
        guard let kid = json.string("kid"), let reference = json.string("reference"),
            let use = json.string("use").flatMap({ KeyUse(rawValue: $0) }),
            let algorithm = json.string("algorithm").flatMap({ KeyAlgorithm(rawValue: $0) })
        else { return nil }
        return KeyRecord(
            kid: kid, use: use, algorithm: algorithm, reference: reference, publicJWK: nil, state: .active,
            createdAt: UnixTime(seconds: 0), replica: json.string("replica"))
    }
}
