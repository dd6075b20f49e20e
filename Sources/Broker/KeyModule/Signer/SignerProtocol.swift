import NativeSSO

/// The protocol between a broker and the signer, version 1, over a Unix stream socket.
///
/// Each frame is a length (4 octets, big-endian) and as many octets. The first frame of each side is a greeting: its name,
/// its version, and the signer's text if it refuses. After that the broker sends requests, and the signer answers each by its
/// number, in any order.
///
///     request:  number (4) ‖ operation (1) ‖ length of the key's name (2) ‖ the key's name ‖ message
///     answer:   number (4) ‖ status (1) ‖ result, or a text that says why there is none
///
/// The key's name has all that the provider needs to find it, so that a connection has no state that a new one must restore.
enum SignerProtocol {
    static let greeting = Array("native-sso signer".utf8)
    static let version: UInt8 = 1
    /// In octets. A token of the broker is at most 16 KiB.
    static let longestFrame = 64 << 10

    enum Operation: UInt8 {
        /// Loads the key. The result is its public JWK; empty for a MAC key.
        case load = 1
        case sign = 2
        case tag = 3
    }

    enum Status: UInt8 {
        case done = 0
        /// The signer does not sign or tag this message.
        case refused = 1
        /// The key cannot be used until somebody repairs it.
        case unusable = 2
        /// The key cannot be used now.
        case outage = 3
        /// More calls than the signer takes from this account.
        case busy = 4
    }

    static func name(of record: KeyRecord) -> [UInt8] {
        Array(
            [record.use.rawValue, record.algorithm.rawValue, record.kid, record.reference].joined(separator: "\0").utf8)
    }

    /// `nil` if the octets name no key. The state of the result means nothing.
    static func record(named name: KeyName) -> KeyRecord? {
        guard let text = String(validating: name.octets, as: UTF8.self) else { return nil }
        let parts = text.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let use = KeyUse(rawValue: parts[0]), let algorithm = KeyAlgorithm(rawValue: parts[1])
        else { return nil }
        return KeyRecord(
            kid: parts[2], use: use, algorithm: algorithm, reference: parts[3], publicJWK: nil, state: .active,
            createdAt: UnixTime(seconds: 0))
    }

    static func append(frame parts: [UInt8]..., to octets: inout [UInt8]) {
        append(UInt32(clamping: parts.reduce(0) { $0 + $1.count }), to: &octets)
        for part in parts { octets += part }
    }

    static func append(_ number: UInt32, to octets: inout [UInt8]) {
        for shift in [24, 16, 8, 0] as [UInt32] { octets.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    static func number(_ octets: some Sequence<UInt8>) -> UInt32 { octets.reduce(0) { $0 << 8 | UInt32($1) } }
}

/// A key's name in requests. It is hashed at once; an array of octets is hashed octet by octet.
struct KeyName: Hashable, Sendable {
    let octets: [UInt8]

    func hash(into hasher: inout Hasher) { unsafe octets.withUnsafeBytes { unsafe hasher.combine(bytes: $0) } }
}

/// A request as the signer reads it.
struct SignerRequest {
    let number: UInt32
    let operation: SignerProtocol.Operation
    let key: KeyName
    let message: [UInt8]

    /// `nil` if the frame is no request.
    init?(_ frame: ArraySlice<UInt8>) {
        let start = frame.startIndex
        guard frame.count >= 7, let operation = SignerProtocol.Operation(rawValue: frame[start + 4]) else { return nil }
        let count = Int(frame[start + 5]) << 8 | Int(frame[start + 6])
        guard frame.count >= 7 + count else { return nil }
        number = SignerProtocol.number(frame.prefix(4))
        self.operation = operation
        key = KeyName(octets: Array(frame[(start + 7)..<(start + 7 + count)]))
        message = Array(frame.dropFirst(7 + count))
    }

    static func append(
        _ number: UInt32, _ operation: SignerProtocol.Operation, key: [UInt8], message: [UInt8],
        to octets: inout [UInt8]
    ) {
        SignerProtocol.append(UInt32(clamping: 7 + key.count + message.count), to: &octets)
        SignerProtocol.append(number, to: &octets)
        octets.append(operation.rawValue)
        octets.append(UInt8(truncatingIfNeeded: key.count >> 8))
        octets.append(UInt8(truncatingIfNeeded: key.count))
        octets += key
        octets += message
    }
}

/// The frames in what arrives from a stream.
struct FrameReader {
    private var octets: [UInt8] = []
    private var start = 0

    mutating func append(_ more: UnsafeRawBufferPointer) {
        if start > 0 {
            octets.removeSubrange(..<start)
            start = 0
        }
        unsafe octets.append(contentsOf: more)
    }

    /// The next whole frame; `nil`: the rest has not arrived.
    mutating func next() throws(SignerDefect) -> ArraySlice<UInt8>? {
        guard octets.count - start >= 4 else { return nil }
        let count = Int(SignerProtocol.number(octets[start..<(start + 4)]))
        guard count <= SignerProtocol.longestFrame else { throw .nonsense("a frame of \(count) octets") }
        guard octets.count - start >= 4 + count else { return nil }
        defer { start += 4 + count }
        return octets[(start + 4)..<(start + 4 + count)]
    }
}

/// Why the signer, or a key behind it, is unusable.
package enum SignerDefect: Error, Sendable, Equatable, CustomStringConvertible {
    case socket(path: String, reason: String)
    /// The connection ended while calls waited.
    case lost(path: String)
    case noAnswer
    case busy(String)
    /// The other side does not speak this protocol.
    case nonsense(String)
    /// The signer does not take this broker.
    case turnedAway(String)
    /// The signer does not sign this message.
    case refused(String)
    /// The key that the signer has is unusable.
    case unusable(String)
    /// The provider of the signer does not work now.
    case outage(String)
    /// Keys are made and destroyed where they lie.
    case readOnly

    package var description: String {
        switch self {
        case .socket(let path, let reason):
            "the signer cannot be reached at \(path): \(reason); start it with: native-sso signer; the broker connects "
                + "again by itself"
        case .lost(let path): "the signer at \(path) ended the connection; the broker connects again by itself"
        case .noAnswer: "the signer did not answer in time"
        case .busy(let text): "the signer takes no more calls now: \(text)"
        case .nonsense(let text): "what answers at keys.signer.socket is no signer of this version: \(text)"
        case .turnedAway(let text): "the signer does not take this broker: \(text)"
        case .refused(let text): "the signer refused: \(text)"
        case .unusable(let text), .outage(let text): "the signer says: \(text)"
        case .readOnly:
            "the signer makes and destroys no keys for brokers: run this command as the account of the signer, with a "
                + "configuration that names keys.directory"
        }
    }

    var isOutage: Bool {
        switch self {
        case .socket, .lost, .noAnswer, .busy, .nonsense, .turnedAway, .outage: true
        case .refused, .unusable, .readOnly: false
        }
    }
}
