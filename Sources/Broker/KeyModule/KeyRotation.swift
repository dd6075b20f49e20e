package import NativeSSO
import StrictCoding

/// The steps in a key's life and the rules that allow them. Pure.
package struct KeyRotation: Sendable, Hashable {
    /// How long a key is published before it is used. For a signing key: the longest time that a JWKS may be cached.
    /// For a MAC key: the time in which every broker reads the registry again.
    package var publication: Seconds
    /// How long a signing key stays published after its last signature: the lifetime of access tokens and id_tokens.
    package var signatureLife: Seconds
    /// How long a refresh-token key is kept after its last tag: the absolute lifetime of a session.
    package var refreshTokenLife: Seconds

    package init(
        publication: Seconds = .hours(24), signatureLife: Seconds = .hours(24), refreshTokenLife: Seconds = .days(90)
    ) {
        self.publication = publication
        self.signatureLife = signatureLife
        self.refreshTokenLife = refreshTokenLife
    }

    package enum Step: String, Sendable, CaseIterable {
        case publish, activate, retire, remove
    }

    package enum Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        case wrongState(KeyState, Step)
        /// Some JWKS caches may not have the key yet.
        case publishedTooShortly(until: UnixTime)
        /// Tokens made with the key may still be in use.
        case stillInUse(until: UnixTime)
        /// The broker could make no more tokens.
        case onlyActiveKey(KeyUse)
        /// The device key is permanent: the database stores its digests.
        case deviceKey

        package var description: String {
            switch self {
            case .wrongState(let state, let step):
                "\(state == .active ? "an" : "a") \(state.rawValue) key cannot be \(step.participle)"
            case .publishedTooShortly: "not every copy of the JWKS holds this key yet"
            case .stillInUse: "what this key made may be in use"
            case .onlyActiveKey(let use):
                "this is the only active \(use.rawValue) key: activate its successor, which retires this one"
            case .deviceKey: "the device key cannot be taken away: without it, every session is lost"
            }
        }
    }
}

extension KeyRotation.Step {
    fileprivate var participle: String {
        switch self {
        case .publish: "published"
        case .activate: "activated"
        case .retire: "retired"
        case .remove: "removed"
        }
    }
}

extension KeyRotation {
    /// The changed records after `step`: the given record, and after an activation also the one that it retires, the active
    /// key of its use, algorithm and replica.
    /// - Parameters:
    ///   - all: Every record of the registry.
    ///   - isForced: Skips the waiting periods, for a key that may be compromised. Never skips a state.
    package func records(
        after step: Step, of record: KeyRecord, among all: [KeyRecord], at now: UnixTime, isForced: Bool = false
    ) throws(Refusal) -> [KeyRecord] {
        switch step {
        case .publish:
            guard record.state == .pending else { throw .wrongState(record.state, step) }
            return [record.moved(to: .published, at: now)]
        case .activate:
            guard record.state == .published else { throw .wrongState(record.state, step) }
            let usable = (record.publishedAt ?? record.createdAt).adding(publication)
            guard isForced || usable <= now else { throw .publishedTooShortly(until: usable) }
            let active = all.filter {
                $0.use == record.use && $0.algorithm == record.algorithm && $0.replica == record.replica
                    && $0.state == .active
            }
            return active.map { $0.moved(to: .retired, at: now) } + [record.moved(to: .active, at: now)]
        case .retire:
            guard record.state == .published || record.state == .active else { throw .wrongState(record.state, step) }
            guard record.use != .device else { throw .deviceKey }
            let hasAnother = all.contains {
                $0.use == record.use && $0.state == .active && $0.kid != record.kid
                    && ($0.replica == nil || $0.replica == record.replica)
            }
            guard isForced || record.state != .active || hasAnother else { throw .onlyActiveKey(record.use) }
            return [record.moved(to: .retired, at: now)]
        case .remove:
            guard record.state != .removed, record.state != .active else { throw .wrongState(record.state, step) }
            guard record.use != .device else { throw .deviceKey }
            if let until = lastUse(of: record), !isForced, now < until { throw .stillInUse(until: until) }
            return [record.moved(to: .removed, at: now)]
        }
    }

    /// What an unattended rotation does next.
    package enum Due: Sendable, Hashable {
        case generate
        case take(Step, KeyRecord)
        /// An operator has made this key, and not published it.
        case pending(KeyRecord)
        /// An operator has suspended this key. A rotation would let its successor sign.
        case suspended(KeyRecord)
        case wait(until: UnixTime)
    }

    /// The next step for the keys of one use and algorithm.
    /// - Parameters:
    ///   - replica: Whose keys; `nil`: those of all brokers.
    ///   - all: Every record of the registry.
    ///   - every: How long a key signs.
    package func due(
        _ use: KeyUse, _ algorithm: KeyAlgorithm, of replica: String? = nil, among all: [KeyRecord], every: Seconds,
        at now: UnixTime
    ) -> Due {
        let keys = all.filter { $0.use == use && $0.algorithm == algorithm && $0.replica == replica }
        if let suspended = keys.first(where: { $0.suspendedAt != nil && $0.state.maySign }) {
            return .suspended(suspended)
        }
        if let successor = keys.first(where: { $0.state == .published }) {
            let usable = (successor.publishedAt ?? successor.createdAt).adding(publication)
            return usable <= now ? .take(.activate, successor) : .wait(until: usable)
        }
        for key in keys where key.state == .retired {
            if lastUse(of: key).map({ $0 <= now }) ?? true { return .take(.remove, key) }
        }
        if let pending = keys.first(where: { $0.state == .pending }) { return .pending(pending) }
        guard let active = keys.first(where: { $0.state == .active }) else { return .generate }
        // So that the successor signs in time.
        let begins = (active.activatedAt ?? active.createdAt).adding(Seconds(max(every.count - publication.count, 0)))
        return begins <= now ? .generate : .wait(until: begins)
    }

    /// The next step of each algorithm of access-token keys.
    ///
    /// Those of which a key signs or is about to; if there is none yet, the algorithms of the keys that all brokers share. A new
    /// algorithm would sign for clients that do not know it, so ES256 is begun only where there never was a key. Of an algorithm
    /// that signs no more, what is left is removed.
    package func due(
        of replica: String?, among all: [KeyRecord], every: Seconds, at now: UnixTime
    ) -> [(algorithm: KeyAlgorithm, step: Due)] {
        func algorithms(_ belongs: (KeyRecord) -> Bool) -> [KeyAlgorithm] {
            let found = Set(all.filter { $0.use == .accessToken && belongs($0) }.map(\.algorithm))
            return KeyAlgorithm.signing.filter(found.contains)
        }
        let own = algorithms { $0.replica == replica && [.active, .published].contains($0.state) }
        let present =
            [own, algorithms { $0.state == .active }, algorithms { _ in true }].first { !$0.isEmpty } ?? [.es256]
        return KeyAlgorithm.signing.compactMap { algorithm in
            let step = due(.accessToken, algorithm, of: replica, among: all, every: every, at: now)
            if case .take(.remove, _) = step { return (algorithm, step) }
            return present.contains(algorithm) ? (algorithm, step) : nil
        }
    }

    /// When the last token of `record` has expired; `nil` if it made none.
    package func lastUse(of record: KeyRecord) -> UnixTime? {
        guard record.activatedAt != nil, let retiredAt = record.retiredAt else { return nil }
        return retiredAt.adding(record.use == .refreshToken ? refreshTokenLife : signatureLife)
    }
}

extension KeyRecord {
    fileprivate func moved(to state: KeyState, at now: UnixTime) -> KeyRecord {
        KeyRecord(
            kid: kid, use: use, algorithm: algorithm, reference: reference, publicJWK: publicJWK, state: state,
            createdAt: createdAt,
            publishedAt: state == .published ? now : publishedAt,
            activatedAt: state == .active ? now : activatedAt,
            retiredAt: state == .retired ? now : retiredAt,
            suspendedAt: suspendedAt, replica: replica)
    }
}

/// Creates the next key of each use.
package struct KeyGenerator: Sendable {
    private let provider: any KeyProvider

    package init(provider: any KeyProvider) {
        self.provider = provider
    }

    /// RSA modulus in bits. NIST SP 800-57 part 1 allows 2048 until the end of 2030, and a 3072-bit signature costs
    /// three times as much.
    package static let defaultModulusBits = 2048

    /// Creates the next key for `use`.
    /// - Parameters:
    ///   - algorithm: Of a signing key; MAC keys have only one.
    ///   - modulusBits: Of an RSA key. By default as many as the active key of the algorithm has.
    ///   - existing: The registry's keys; removed ones are ignored.
    /// - Throws: `.deviceKeyExists`, `.noIDsLeft`, `.algorithmDoesNotFit`, or the provider's error.
    package func generate(
        _ use: KeyUse, algorithm: KeyAlgorithm = .es256, modulusBits: Int? = nil,
        beside existing: [KeyRecord]
    ) async throws(KeyError) -> GeneratedKey {
        let existing = existing.filter { $0.use == use && $0.state != .removed }
        switch use {
        case .accessToken:
            let active = existing.first { $0.algorithm == algorithm && $0.state == .active }
            let bits = modulusBits ?? active.flatMap(Self.modulusBits) ?? Self.defaultModulusBits
            return try await provider.generateSigningKey(algorithm, modulusBits: bits)
        case .refreshToken: return try await provider.generateRefreshTokenKey(id: try Self.nextID(existing))
        case .device:
            if let device = existing.first { throw .deviceKeyExists(reference: device.reference) }
            return try await provider.generateDeviceKey()
        }
    }

    private static func modulusBits(of key: KeyRecord) -> Int? {
        let jwk = key.publicJWK.flatMap { try? JSONReader.parse($0.utf8).object }
        return jwk?.string("n").flatMap { Base64URL.decode($0) }.map { 8 * $0.count }
    }

    /// The highest id plus one; after 255, the lowest free id. Reusing a removed key's id is safe, because its old
    /// tokens fail under the new key.
    private static func nextID(_ existing: [KeyRecord]) throws(KeyError) -> UInt8 {
        var taken: Set<UInt8> = []
        for record in existing {
            guard let id = KeyReference.refreshTokenID(in: record.reference) else {
                throw .badReference(record.reference)
            }
            taken.insert(id)
        }
        let highest = taken.max() ?? 0
        if highest < .max { return highest + 1 }
        guard let free = (1...UInt8.max).first(where: { !taken.contains($0) }) else { throw .noIDsLeft }
        return free
    }
}
