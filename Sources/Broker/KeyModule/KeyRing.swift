import JOSE
package import NativeSSO
import StrictCoding
import Synchronization

/// The keys in use, behind the four ports that need them. Empty at first; replaced as a whole while requests run.
///
/// A missing key is an outage, never a refusal: apps delete their login on `invalid_grant`.
package final class KeyRing: Sendable {
    // The lock copies one reference: about 20 ns, against 20 µs for the cheapest signature.
    private let keys = Mutex<KeySet?>(nil)
    private let whole = Atomic(false)
    /// Whether the newest keys of the registry are not in use: see ``adopt(_:)``.
    private let behind = Atomic(false)
    private let reading = Mutex<(@Sendable () async throws(PortError) -> Void)?>(nil)
    private let signed = Mutex<[String: Signatures]>([:])
    private let suspended = Mutex<Set<String>>([])

    package struct Signatures: Sendable {
        /// `file`, or the scheme of the key's reference, such as `pkcs11`.
        package fileprivate(set) var provider = ""
        package fileprivate(set) var failures: Int64 = 0
        package fileprivate(set) var count: Int64 = 0
        package fileprivate(set) var time: Duration = .zero
    }

    private let quota: CallRate<String>?

    /// - Parameter quota: Signatures of each key in a second; `nil`: as many as are asked for.
    package init(quota: Int? = nil) { self.quota = quota.map { CallRate($0) } }

    /// Asked before anything is written for a signature. A signature that was begun is made and counted, also beyond
    /// the quota.
    func checkQuota(of kid: String) throws(PortError) {
        guard let quota, !quota.hasRoom(kid) else { return }
        throw .outage(Outage(.keyModule, "the key \(kid) has made keys.quota signatures in this second"))
    }

    /// The keys in use; `nil` before the first load.
    package var current: KeySet? { keys.withLock { $0 } }

    /// By `kid`, since the start.
    package var signatures: [String: Signatures] { signed.withLock { $0 } }

    /// - Parameter time: `nil`: the key did not sign.
    func count(signatureBy kid: String, in provider: String, _ time: Duration?) {
        quota?.count(kid)
        signed.withLock { signed in
            var signatures = signed[kid] ?? Signatures()
            signatures.provider = provider
            if let time {
                signatures.count += 1
                signatures.time += time
            } else {
                signatures.failures += 1
            }
            signed[kid] = signatures
        }
    }

    /// The keys that an operator has suspended, by `kid`: nothing new is begun with them. Apart from the key sets, so that
    /// it counts also while a new set cannot be loaded.
    package var suspendedKIDs: Set<String> {
        get { suspended.withLock { $0 } }
        set { suspended.withLock { $0 = newValue } }
    }

    func checkNotSuspended(_ kid: String) throws(PortError) {
        guard suspended.withLock({ $0.contains(kid) }) else { return }
        throw .outage(Outage(.keyModule, "the key \(kid) is suspended; \(Self.resumption(of: kid))"))
    }

    /// How an operator lets a suspended key sign again. A kid may begin with a hyphen, and options stand before the `--`.
    package static func resumption(of kid: String) -> String {
        "to let it sign: native-sso key resume --execute --reason REASON -- \(kid)"
    }

    /// Whether some app can get tokens now: a signing key is neither suspended nor known to fail, and so is the key for new refresh
    /// tokens.
    package var canIssue: Bool {
        guard let keys = current, keys.missing.isEmpty, let refreshTokenKID = keys.refreshTokenKID else { return false }
        let suspended = suspendedKIDs
        return keys.canSign(without: suspended) && !suspended.contains(refreshTokenKID)
    }

    /// Whether all active and published keys of the registry were ever loaded at the same time.
    package var hasBeenWhole: Bool { whole.load(ordering: .relaxed) }

    /// Puts `new` into use.
    ///
    /// Keeps the present keys if a reload could not load an active key (a damaged or missing file). Exception: one of the
    /// present active keys was removed in the meantime.
    /// - Returns: Whether `new` is in use.
    package func adopt(_ new: KeySet) -> Bool {
        keys.withLock { present in
            if let present, present.missing.isEmpty, present.activeKIDs.isSubset(of: new.verifyingKIDs),
                new.problems.contains(where: { $0.state == .active && !$0.isOthers })
            {
                behind.store(true, ordering: .relaxed)
                return false
            }
            present = new
            behind.store(false, ordering: .relaxed)
            if new.missing.isEmpty, new.problems.allSatisfy({ $0.state == .retired }) {
                whole.store(true, ordering: .relaxed)
            }
            return true
        }
    }

    func loaded() throws(PortError) -> KeySet {
        guard let keys = current else { throw .outage(Outage(.keyModule, "no keys were loaded yet")) }
        return keys
    }

    /// Sets how a request with an unknown key has the registry's keys read again. What it throws is that request's outage.
    package func readsAgain(by read: @escaping @Sendable () async throws(PortError) -> Void) {
        reading.withLock { $0 = read }
    }

    /// Reads the registry's keys for a request with an unknown key, which another broker may have made since the last read. Then
    /// a key that is still unknown does not exist, and ``loaded()`` says so.
    func readAgain() async throws(PortError) {
        try await reading.withLock { $0 }?()
        guard !behind.load(ordering: .relaxed) else {
            throw .outage(Outage(.keyModule, "the newest keys could not be loaded", isUndecided: true))
        }
    }
}

extension PortError {
    static func noActiveKey(for use: KeyUse, _ algorithm: KeyAlgorithm? = nil) -> PortError {
        let kind = algorithm.map { " of algorithm \($0.rawValue)" } ?? ""
        return .outage(Outage(.keyModule, "there is no usable active key\(kind) for use \(use.rawValue)"))
    }

    init(_ error: KeyError) {
        self = .outage(Outage(.keyModule, error.description))
    }
}

/// An active signing key and its precomputed token headers.
final class TokenSigning: Sendable {
    let algorithm: KeyAlgorithm
    let kid: String
    let provider: String
    private let key: any SigningKey
    private let headers: [JWTType: [UInt8]]

    init(_ key: any SigningKey, _ record: KeyRecord) {
        algorithm = key.algorithm
        kid = record.kid
        provider = record.providerName
        self.key = key
        headers = Dictionary(
            uniqueKeysWithValues: JWTType.allCases.map { ($0, Self.header(key.algorithm, $0, record.kid)) })
    }

    var failure: KeyError? { key.failure }

    /// The compact JWS of `payload`. RFC 7515 §7.1.
    func begin(_ payload: [UInt8], type: JWTType) -> Pending<String, KeyError> {
        let header = headers[type] ?? Self.header(algorithm, type, kid)
        var input: [UInt8] = []
        input.reserveCapacity(header.count + payload.count * 4 / 3 + 4)
        input.append(contentsOf: header)
        Base64URL.append(payload, to: &input)
        return key.beginSignature(over: input).then { [input] result in
            result.map { signature in
                var token: [UInt8] = []
                token.reserveCapacity(input.count + signature.count * 4 / 3 + 5)
                token += input
                token.append(UInt8(ascii: "."))
                Base64URL.append(signature, to: &token)
                return String(decoding: token, as: UTF8.self)
            }
        }
    }

    /// The JOSE header in base64url, followed by a dot.
    static func header(_ algorithm: KeyAlgorithm, _ type: JWTType, _ kid: String) -> [UInt8] {
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

/// The registry's keys that the provider could load. Immutable.
package final class KeySet: Sendable {
    package struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
        package let kid: String
        package let use: KeyUse
        package let state: KeyState
        /// The problem and how to repair it.
        package let explanation: String
        /// Whether the provider is away, so that waiting may help.
        package let isOutage: Bool
        /// Whether it is another replica's key: this one need not sign with it.
        package let isOthers: Bool

        package var description: String { "\(use.rawValue) key \(kid) (\(state.rawValue)): \(explanation)" }
    }

    /// The active signing keys, one of each algorithm. A client that names no algorithm gets the first.
    private let signers: [TokenSigning]
    /// By the first octet of the refresh tokens; `nil` if the key exists but could not be loaded.
    let refreshTokenKeys: [UInt8: (any MessageAuthenticator)?]
    /// The uses of keys of a kind that this version does not know: then a token of an unknown key may be valid.
    let unknownUses: Set<KeyUse>
    let refreshTokenKeyID: UInt8?
    let refreshTokenKID: String?
    let deviceKey: (any MessageAuthenticator)?
    let activeKIDs: Set<String>
    /// The keys whose signatures and tags are accepted, loaded or not.
    let verifyingKIDs: Set<String>

    /// The JWKS to publish: keys that sign, will sign, or have signed. RFC 7517 §5.
    package let jwks: [UInt8]
    /// The same keys; `nil` if they are no set.
    let verificationKeys: JSONWebKeySet?
    /// Signs for clients that name no algorithm; `nil`: no active signing key is loaded.
    package var algorithm: KeyAlgorithm? { signers.first?.algorithm }
    /// The `kid` of each loaded active signing key, the one of ``algorithm`` first.
    package var signingKIDs: [String] { signers.map(\.kid) }
    package let problems: [Problem]

    func signer(_ algorithm: KeyAlgorithm) -> TokenSigning? { signers.first { $0.algorithm == algorithm } }

    /// Whether a signing key is left that is not known to fail.
    func canSign(without suspended: Set<String>) -> Bool {
        signers.contains { $0.failure == nil && !suspended.contains($0.kid) }
    }

    func verificationKey(for header: JOSEHeader) -> Result<JSONWebKey, JWSError> {
        Result { () throws(JWSError) in
            guard let verificationKeys else { throw .unknownKey }
            return try verificationKeys.key(for: header)
        }
    }

    /// The uses without a loaded active key.
    package var missing: [KeyUse] {
        (signers.isEmpty ? [.accessToken] : []) + (refreshTokenKeyID == nil ? [.refreshToken] : [])
            + (deviceKey == nil ? [.device] : [])
    }

    /// Loads the keys of `records`. A key that cannot be loaded does not stop the others: see ``problems``.
    /// - Parameters:
    ///   - unknownUses: The uses of the registry's keys that are not in `records`.
    ///   - replica: The name of this broker. It signs with its own keys, and where it has none, with those of all brokers.
    package init(
        _ records: [KeyRecord], unknownUses: Set<KeyUse> = [], of replica: String? = nil, from provider: any KeyProvider
    ) async {
        let records = records.filter(\.state.verifies)
        var published: [JSONWebKey] = []
        var signers: [KeyAlgorithm: TokenSigning] = [:]
        var refreshTokenKeys: [UInt8: (any MessageAuthenticator)?] = [:]
        var refreshTokenKeyID: UInt8?
        var refreshTokenKID: String?
        var unknownUses = unknownUses
        var deviceKey: (any MessageAuthenticator)?
        var activeKIDs: Set<String> = []
        var problems: [Problem] = []
        for record in records {
            let isActive = record.state == .active
            let isOthers = record.replica != nil && record.replica != replica
            do throws(KeyError) {
                switch record.use {
                case .accessToken:
                    // Retired keys are published from their private part too. Do not trust the database's public keys:
                    // an attacker with write access could publish their own.
                    guard !isOthers else {
                        published.append(try await provider.publicKey(record))
                        continue
                    }
                    let key = try await provider.signingKey(record)
                    published.append(key.publicKey)
                    if isActive, record.replica != nil || signers[record.algorithm] == nil {
                        signers[record.algorithm] = TokenSigning(key, record)
                    }
                case .refreshToken:
                    guard let id = KeyReference.refreshTokenID(in: record.reference) else {
                        unknownUses.insert(.refreshToken)
                        throw .badReference(record.reference)
                    }
                    refreshTokenKeys[id] = .some(nil)
                    refreshTokenKeys[id] = try await provider.macKey(record)
                    if isActive { (refreshTokenKeyID, refreshTokenKID) = (id, record.kid) }
                case .device: if isActive { deviceKey = try await provider.macKey(record) }
                }
                if isActive { activeKIDs.insert(record.kid) }
            } catch {
                problems.append(
                    Problem(
                        kid: record.kid, use: record.use, state: record.state, explanation: error.description,
                        isOutage: error.isOutage, isOthers: isOthers))
            }
        }
        self.signers = KeyAlgorithm.allCases.compactMap { signers[$0] }
        self.refreshTokenKeys = refreshTokenKeys
        self.refreshTokenKeyID = refreshTokenKeyID
        self.refreshTokenKID = refreshTokenKID
        self.deviceKey = deviceKey
        self.activeKIDs = activeKIDs
        self.problems = problems
        verifyingKIDs = Set(records.map(\.kid))
        jwks = JSONWebKeySet.document(of: published)
        verificationKeys = try? JSONWebKeySet(published)
        // Without a set of what is there, any key may be the right one.
        if verificationKeys == nil, !published.isEmpty { unknownUses.insert(.accessToken) }
        self.unknownUses = unknownUses
    }
}
